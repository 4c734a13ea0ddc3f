import type { JSX } from 'preact'
import { counted } from '../model/amount.js'
import { left, span, timeOfDay } from '../model/time.js'
import type { Health } from '../state/health.js'
import { useConsole } from './context.js'
import { Icon } from './icon.js'
import { later } from './later.js'
import { useCell } from './use-cell.js'

const ThawButton = later(more => more.ThawButton)

/** The bottom of the page: what the health means, what can be done about it, and the keyboard. */
export function Footer(): JSX.Element {
  const { health$, now$, dialog$ } = useConsole()
  const health = useCell(health$)
  const now = useCell(now$)
  return (
    <footer class={`footer footer-${health.state}`}>
      {(health.state === 'stale' || health.state === 'frozen') && <Icon name="warn" />}
      <p class="footer-words">{health.state === 'live' ? <Facts now={now} /> : wordsFor(health, now)}</p>
      {health.state === 'frozen' && <ThawButton />}
      <button type="button" class="footer-keys" onClick={() => dialog$.next({ type: 'keyboard' })}>
        <kbd>/</kbd> search <kbd>↑</kbd>
        <kbd>↓</kbd> move <kbd>Enter</kbd> open <kbd>n</kbd> set <kbd>?</kbd> more
      </button>
    </footer>
  )
}

function wordsFor(health: Health, now: number): string {
  switch (health.state) {
    case 'frozen':
      return `Frozen for ${left(health.until - now)} more: connections stay open, and nothing moves.`
    case 'stale':
      return `${health.why}. Values are those of ${timeOfDay(health.since).slice(0, 8)}; this page keeps trying.`
    case 'connecting':
      return health.why === undefined ? 'Connecting to the store…' : `${health.why}; this page keeps trying.`
    default:
      return ''
  }
}

function Facts({ now }: { readonly now: number }): JSX.Element {
  const { pulses$, facts$ } = useConsole()
  const { last } = useCell(pulses$)
  const version = useCell(facts$)?.version
  if (last === undefined) return <>Live</>
  return (
    <>
      {[
        ...(last.startedAt
          ? [counted(last.watches, 'watch', 'watches'), `up ${span(now - last.startedAt)}`]
          : ['another store serves']),
        version && `version ${version}`,
        last.drift && `the store’s clock was set back: versions are ${span(last.drift)} ahead of it`,
      ]
        .filter(Boolean)
        .join('  ·  ')}
    </>
  )
}
