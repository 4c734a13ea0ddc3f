import { asyncScheduler, bufferTime, filter, map, type Observable, type SchedulerLike } from 'rxjs'
import { reason, StateStoreError } from '../core/util/errors.js'
import type { AuditEvent, Fault, StorageStatus } from '../server/index.js'

/** Describes a change of the storage status. */
export function storageWords({ state, error }: StorageStatus, isNode: boolean): string {
  if (state === 'kept') return `the store no longer has a problem with its ${isNode ? 'log' : 'directory'}`
  if (error instanceof StateStoreError && error.code === 'keys-missing') return error.message
  if (state === 'degraded') return `the store works, but its log is not replicated as configured: ${reason(error)}`
  if (state === 'waiting')
    return `requests wait until the log is available${error === undefined ? '' : `: ${reason(error)}`}`
  if (isNode) return `this node has stopped: ${reason(error)}`
  if (error instanceof StateStoreError && error.code === 'in-use') return error.message
  if (state === 'full') return `writes are rejected, acknowledged writes are safe: ${reason(error)}`
  return `writes are rejected until the store restarts, as the state of the disk is unknown: ${reason(error)}`
}

/** Returns the severity of a change of the storage status. */
export const storageLevel = ({ state }: StorageStatus): 'info' | 'warn' | 'error' =>
  state === 'kept' ? 'info' : state === 'waiting' || state === 'degraded' ? 'warn' : 'error'

/** Describes an unexpected error of a running store, with its stack. */
export function faultWords({ clientId, error }: Fault): string {
  // An error that the store reports deliberately needs no stack.
  if (error instanceof StateStoreError && clientId === '') return error.message
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `internal error of the store${clientId === '' ? '' : `, caused by client ${JSON.stringify(clientId)}`}: ${what}`
}

/** Describes a clock that was set back. @param drift - time by which the clock is behind the store's time, ms */
export const driftWords = (drift: number): string =>
  drift === 0
    ? "the clock of this machine has caught up with the store's time"
    : `the clock of this machine was set back: it is ${Math.round(drift / 1_000)} s behind the store's time, which ` +
      'continues for an hour and then slows down; set the clock before that, or clients are rejected (clock-skew)'

const REPORT_INTERVAL_MS = 10_000

/** Emits at most one warning per interval about connections that exceeded a limit. */
export const connectionLimitWarnings = (
  events$: Observable<AuditEvent>,
  scheduler: SchedulerLike = asyncScheduler,
): Observable<string> =>
  events$.pipe(
    filter(({ event }) => event === 'cut'),
    bufferTime(REPORT_INTERVAL_MS, scheduler),
    filter(({ length }) => length > 0),
    map(wordsOf),
  )

function wordsOf(events: readonly AuditEvent[]): string {
  const total = events.reduce((sum, { count = 0 }) => sum + count, 0)
  const [worst] = [...events].sort((a, b) => (b.count ?? 0) - (a.count ?? 0))
  const { address, clientId, listener, reason } = worst ?? {}
  const who = clientId === undefined ? (address ?? 'several addresses') : `${JSON.stringify(clientId)} at ${address}`
  const what = total === 1 ? 'a connection was' : `${total} connections were`
  return `warning: ${what} closed for exceeding a limit, ${total === 1 ? '' : 'most '}of ${who} (${listener}): ${reason}`
}
