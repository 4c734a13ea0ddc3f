import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { WRITE_TIMEOUT_MS } from '../../state/store-link.js'
import { useConsole } from '../parts/context.js'
import { StateMark } from '../parts/state-mark.js'
import { useCell } from '../parts/use-cell.js'
import { Problem } from './fields.js'
import type { WriteState } from './write.js'

/** Time after which a write that the store does not answer is shown as waiting, ms. */
const SLOW_AFTER_MS = 1_000
const UPDATE_MS = 250

const REASONS = {
  connecting: 'Connecting to the store.',
  live: 'The store has not answered yet.',
  stale: 'Store unreachable.',
  frozen: 'Store frozen.',
  refused: 'The broker refuses the page.',
} as const

/** Shows why a write is not done yet, and how long it waits, or why it failed. */
export function WriteStatus({
  write: { startedAt, problem },
}: {
  readonly write: Pick<WriteState<unknown>, 'startedAt' | 'problem'>
}): JSX.Element {
  const { state } = useCell(useConsole().health$)
  const elapsed = useElapsed(startedAt)
  if (elapsed === undefined || (state === 'live' && elapsed < SLOW_AFTER_MS)) return <Problem error={problem} />
  const left = Math.max(0, Math.ceil((WRITE_TIMEOUT_MS - elapsed) / 1_000))
  return (
    <div class="problem-place">
      <p class="waiting">
        <StateMark state={state === 'live' ? 'pending' : state} word={REASONS[state]} />
        <span>Waiting… {left} s</span>
      </p>
      <span class="unseen" role="status">
        {REASONS[state]} Waiting.
      </span>
    </div>
  )
}

/** Returns the time since `startedAt` of `performance.now()`, and updates it; ms. */
function useElapsed(startedAt: number | undefined): number | undefined {
  const [now, setNow] = useState(0)
  useEffect(() => {
    if (startedAt === undefined) return
    const timer = setInterval(() => setNow(performance.now()), UPDATE_MS)
    return () => clearInterval(timer)
  }, [startedAt])
  return startedAt === undefined ? undefined : Math.max(0, now - startedAt)
}
