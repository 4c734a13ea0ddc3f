import type { ComponentChildren, JSX } from 'preact'
import type { BehaviorSubject } from 'rxjs'
import { formatCompact } from '../model/amount.js'
import { liveNodes } from '../model/node-state.js'
import { formatDuration, formatRemaining } from '../model/time.js'
import type { Health } from '../state/store-health.js'
import { THEMES, type Theme } from '../state/theme.js'
import { useConsole } from './parts/context.js'
import { Icon } from './parts/icon.js'
import { Sparkline } from './parts/sparkline.js'
import { StateMark, UNKNOWN, useIsCurrent } from './parts/state-mark.js'
import { useCell } from './parts/use-cell.js'

export function Header({ theme$ }: { readonly theme$: BehaviorSubject<Theme> }): JSX.Element {
  const { facts$, health$, now$, route$ } = useConsole()
  const facts = useCell(facts$)
  const { view } = useCell(route$)
  return (
    <header class="header">
      <Brand />
      <p class="header-address">{facts?.url}</p>
      <HealthMark health={useCell(health$)} now={useCell(now$)}>
        <LiveNodes />
      </HealthMark>
      {/* The store view shows the same rates. */}
      {view === 'store' || <Pulse />}
      <ThemeSwitch theme$={theme$} />
    </header>
  )
}

export const Brand = (): JSX.Element => (
  <h1 class="brand">
    <svg class="brand-mark" viewBox="0 0 34 16" aria-hidden="true">
      <path class="brand-line" d="M1 8h29M27.5 4.5L31.5 8l-4 3.5" />
      <circle class="brand-past" cx="6" cy="8" r="3" />
      <circle class="brand-past" cx="14" cy="8" r="3" />
      <circle class="brand-now" cx="22.5" cy="8" r="4" />
    </svg>
    rx-statestore
  </h1>
)

function Pulse(): JSX.Element {
  const { last, requests, errors, notifications } = useCell(useConsole().stats$)
  const isCurrent = useIsCurrent()
  const rates = [
    { name: 'Requests', unit: 'req/s', values: requests, now: last?.requests ?? 0, tone: '' },
    { name: 'Errors', unit: 'errors/s', values: errors, now: last?.errors ?? 0, tone: 'bad' },
    { name: 'Notifications', unit: 'notified/s', values: notifications, now: last?.notifications ?? 0, tone: 'quiet' },
  ]
  return (
    <ul class="pulse" aria-label="Throughput">
      {rates.map(({ name, unit, values, now, tone }) => (
        <li key={name} class={`rate ${tone} ${isCurrent && now > 0 ? 'active' : ''}`}>
          <span class="rate-now">{isCurrent && last ? formatCompact(now) : UNKNOWN}</span>
          <span class="rate-unit">{unit}</span>
          <Sparkline of={`${name} per second`} values={values} />
        </li>
      ))}
    </ul>
  )
}

interface HealthMarkProps {
  readonly health: Health
  readonly now: number
  /** Shown while the store is live. */
  readonly children: ComponentChildren
}

const HealthMark = ({ health, now, children }: HealthMarkProps): JSX.Element => (
  <p class={`health health-${health.state}`}>
    <StateMark state={health.state}>
      {'since' in health && <span class="health-more">{statusDetail(health, now)}</span>}
      {health.state === 'live' && children}
    </StateMark>
  </p>
)

/** Shows how many nodes of a cluster are live. */
function LiveNodes(): JSX.Element | null {
  const { last } = useCell(useConsole().stats$)
  if (last?.cluster === undefined) return null
  const { length: all } = last.cluster.nodes
  const live = liveNodes(last.cluster)
  return (
    <span class={`health-nodes ${live < all ? 'health-nodes-missing' : ''}`}>
      · {live}/{all} nodes
    </span>
  )
}

function statusDetail(health: Health, now: number): string {
  if (health.state === 'frozen') return `${formatRemaining(health.until - now)} left`
  return health.state === 'stale' ? `for ${formatDuration(now - health.since)}` : ''
}

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: 'system', light: 'light', dark: 'dark' }

function ThemeSwitch({ theme$ }: { readonly theme$: BehaviorSubject<Theme> }): JSX.Element {
  const theme = useCell(theme$)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  const label = `Theme: ${THEME_NAMES[theme]}. Switch to ${THEME_NAMES[next]}`
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={() => theme$.next(next)}>
      <Icon name={theme} />
    </button>
  )
}
