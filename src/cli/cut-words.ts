import { asyncScheduler, bufferTime, filter, map, type Observable, type SchedulerLike } from 'rxjs'
import type { AuditEvent } from '../server/index.js'

/** At most one line in so long, ms. */
const INTERVAL = 10_000

/** What an operator reads of connections that were cut for limits, whether there is an audit log or not. */
export const cutWords = (
  events$: Observable<AuditEvent>,
  scheduler: SchedulerLike = asyncScheduler,
): Observable<string> =>
  events$.pipe(
    filter(({ event }) => event === 'cut'),
    bufferTime(INTERVAL, scheduler),
    filter(({ length }) => length > 0),
    map(wordsOf),
  )

function wordsOf(cuts: readonly AuditEvent[]): string {
  const total = cuts.reduce((sum, { count = 0 }) => sum + count, 0)
  const [worst] = [...cuts].sort((a, b) => (b.count ?? 0) - (a.count ?? 0))
  const { address, clientId, listener, reason } = worst ?? {}
  const who = clientId === undefined ? (address ?? 'several addresses') : `${JSON.stringify(clientId)} at ${address}`
  const what = total === 1 ? 'a connection was' : `${total} connections were`
  return `warning: ${what} cut for a limit, ${total === 1 ? '' : 'most '}of ${who} (${listener}): ${reason}`
}
