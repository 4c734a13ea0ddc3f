import { appendFileSync, chmodSync, statSync } from 'node:fs'
import { asyncScheduler, bufferTime, filter, map, type Observable, type SchedulerLike, type Subscription } from 'rxjs'
import { reason, StateStoreError } from '../core/util/errors.js'
import type { AuditEvent, Fault, StorageStatus } from '../server/index.js'
import type { Io } from './io.js'
import { jsonLine } from './json.js'

/** Whether what is written is kept, for people. */
export function storageWords({ state, error }: StorageStatus, isNode: boolean): string {
  if (state === 'kept') return isNode ? 'the log of the store goes on' : 'writes are kept on the disk again'
  if (state === 'degraded') return `all goes on, but the log of the store is not kept as it should be: ${reason(error)}`
  if (state === 'waiting')
    return `nothing is answered until the log of the store goes on${error === undefined ? '' : `: ${reason(error)}`}`
  if (isNode) return `this node has stopped: ${reason(error)}`
  if (error instanceof StateStoreError && error.code === 'in-use') return error.message
  if (state === 'full') return `writes are refused, nothing that was answered is lost: ${reason(error)}`
  return `writes are refused until the store is started anew, as it is not known what the disk has: ${reason(error)}`
}

/** What went wrong in a store that runs, for people. */
export function faultWords({ clientId, error }: Fault): string {
  // What the store itself reports is no fault of its code.
  if (error instanceof StateStoreError && clientId === '') return error.message
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `the store failed${clientId === '' ? '' : ` at what ${JSON.stringify(clientId)} asked for`}: ${what}`
}

/** That the clock was set back, for people. @param drift - ms by which versions are ahead of it */
export const driftWords = (drift: number): string =>
  drift === 0
    ? 'the clock of this machine has caught up with the versions'
    : `the clock of this machine was set back: versions are ${Math.round(drift / 1_000)} s ahead of it, and count on ` +
      'from there until it has caught up; what was written before with a time to live stays as much longer'

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

/**
 * Keeps a record, a line of JSON for each event. What cannot be written is told on stderr.
 *
 * @param file - `true` for stderr
 */
export function record(events$: Observable<AuditEvent>, file: string | true, io: Io): Subscription {
  if (typeof file === 'string') close(file, io)
  return events$.subscribe(event => write(file, jsonLine(event), io))
}

/** A record that was there before may be for everybody to read; a device is left as it is. */
function close(path: string, io: Io): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) chmodSync(path, 0o600)
  } catch (error) {
    io.stderr.write(`warning: others may read ${path}: ${reason(error)}\n`)
  }
}

function write(file: string | true, line: string, io: Io): void {
  try {
    if (file === true) io.stderr.write(line)
    else appendFileSync(file, line, { mode: 0o600 })
  } catch (error) {
    io.stderr.write(`cannot keep the record: ${reason(error)}\n`)
  }
}
