import type { JSX } from 'preact'
import { pluralize } from '../model/amount.js'
import { formatDuration, formatRemaining, timeOfDay } from '../model/time.js'
import type { Health } from '../state/store-health.js'
import { lazy } from './lazy.js'
import { useConsole } from './parts/context.js'
import { Icon } from './parts/icon.js'
import { useCell } from './parts/use-cell.js'

const ResumeButton = lazy(more => more.ResumeButton)

export function Footer(): JSX.Element {
  const { health$, now$, dialog$ } = useConsole()
  const health = useCell(health$)
  const now = useCell(now$)
  return (
    <footer class={`footer footer-${health.state}`}>
      {(health.state === 'stale' || health.state === 'frozen' || health.state === 'refused') && (
        <Icon name={health.state} />
      )}
      <p class="footer-words">{health.state === 'live' ? <Facts now={now} /> : statusText(health, now)}</p>
      {health.state === 'frozen' && <ResumeButton />}
      <button type="button" class="footer-keys" onClick={() => dialog$.next({ type: 'keyboard' })}>
        <kbd>/</kbd> search <kbd>↑</kbd>
        <kbd>↓</kbd> move <kbd>Enter</kbd> open <kbd>n</kbd> set <kbd>?</kbd> more
      </button>
    </footer>
  )
}

function statusText(health: Health, now: number): string {
  switch (health.state) {
    case 'frozen':
      return `Frozen, ${formatRemaining(health.until - now)} left: connections stay open, but nothing is processed.`
    case 'stale':
      return `${health.why}. Values as of ${timeOfDay(health.since).slice(0, 8)}; retrying.`
    case 'connecting':
      return health.why === undefined ? 'Connecting to the store…' : `${health.why}; retrying.`
    case 'refused':
      return `${health.why}; retrying.`
    default:
      return ''
  }
}

function Facts({ now }: { readonly now: number }): JSX.Element {
  const { stats$, facts$ } = useConsole()
  const { last } = useCell(stats$)
  const version = useCell(facts$)?.version
  if (last === undefined) return <>Live</>
  return (
    <>
      {[
        ...(last.startedAt
          ? [pluralize(last.watches, 'watch', 'watches'), `up ${formatDuration(now - last.startedAt)}`]
          : ['another store is active']),
        version && `version ${version}`,
        last.drift && `store clock set back: ${formatDuration(last.drift)} behind the store's time`,
      ]
        .filter(Boolean)
        .join('  ·  ')}
    </>
  )
}
