import { type Observable, Subject } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'

/**
 * What those who answer for a store or hub want to know: a login, or a refusal. Without secrets and values; each text has
 * at most 256 characters.
 */
export interface AuditEvent {
  /** When, as in `2026-01-02T12:15:16.017Z`. */
  readonly time: string
  /**
   * `order`: somebody with the token of the console had it do something. `cut`: `count` connections ended for a limit.
   * `suppressed`: so many more events came in the same second, which are not told one by one.
   */
  readonly event: 'login' | 'refused' | 'order' | 'cut' | 'suppressed'
  readonly clientId?: string | undefined
  readonly username?: string | undefined
  readonly address?: string | undefined
  /** `mqtt`, `mqtts`, `ws`, `wss`, `console` or `hub`. */
  readonly listener?: string | undefined
  /** Of a login. */
  readonly outcome?: 'accepted' | 'refused' | undefined
  /** What was refused. */
  readonly action?: 'connect' | 'publish' | 'subscribe' | 'read' | 'write' | undefined
  /** Topic, filter, key, name of the hub or path of an order, as text. */
  readonly target?: string | undefined
  /** `quota` of what was refused though it is allowed, as it would be more than there may be; which limit, of what was cut. */
  readonly reason?: string | undefined
  readonly count?: number | undefined
}

/** Events of one second that are told; who is refused often is not to fill a disk. */
const MOST_PER_SECOND = 200
const SECOND = 1_000
/** Of each text, characters. */
const LONGEST_TEXT = 256

/** Tells what is to be kept on record. */
export class Audit {
  readonly #clock: Clock
  readonly #events$ = new Subject<AuditEvent>()
  /** Hot. */
  readonly events$: Observable<AuditEvent> = this.#events$.asObservable()
  readonly #disconnectionAudit: DisconnectionAudit
  #second = Number.NEGATIVE_INFINITY
  #told = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#disconnectionAudit = new DisconnectionAudit(clock, event => this.tell(event))
  }

  /** Whether anybody listens. */
  get heard(): boolean {
    return this.#events$.observed
  }

  /** Tells of something, unless there was too much of it in this second. */
  tell(event: Omit<AuditEvent, 'time'>): void {
    if (!this.heard) return
    const now = this.#clock.monotonic()
    if (now >= this.#second + SECOND) this.#begin(now)
    if (++this.#told <= MOST_PER_SECOND) this.#emit(event)
  }

  /** Tells of a connection that was ended for a limit; of many that are alike only how many. */
  cut(cut: Cut): void {
    if (this.heard) this.#disconnectionAudit.report(cut)
  }

  /** Nothing is told any more. */
  close(): void {
    this.#disconnectionAudit.close()
    this.#events$.complete()
  }

  #begin(now: number): void {
    const suppressed = this.#told - MOST_PER_SECOND
    this.#second = now
    this.#told = 0
    if (suppressed > 0) this.#emit({ event: 'suppressed', count: suppressed })
  }

  #emit(event: Omit<AuditEvent, 'time'>): void {
    this.#events$.next({ time: new Date(this.#clock.now()).toISOString(), ...shortened(event) })
  }
}

/** Strangers say these, as long as they like. */
function shortened(event: Omit<AuditEvent, 'time'>): Omit<AuditEvent, 'time'> {
  const short = { ...event }
  for (const name of ['clientId', 'username', 'target', 'reason'] as const) {
    const text = event[name]
    if (text !== undefined && text.length > LONGEST_TEXT) short[name] = text.slice(0, LONGEST_TEXT)
  }
  return short
}

/** A network connection that was ended for a limit. */
export interface Cut {
  /** Which limit it was. */
  readonly reason: string
  readonly address: string | undefined
  readonly listener: string
  /** Of one that was let in. */
  readonly clientId?: string | undefined
  readonly username?: string | undefined
}

/** Several that have the same limit, address and client; without an address those of many. */
interface CutReport extends Omit<Cut, 'address'> {
  readonly event: 'cut'
  readonly address?: string | undefined
  readonly count: number
}

type Event = Omit<CutReport, 'count'>

/** The first of those that have the same limit, address and client is reported at once, the others after so long, ms. */
const INTERVAL = 10_000
/** Of so many limits, addresses and clients in that time; those of all others are reported together. */
const MOST_APART = 100

/**
 * Reports connections that were cut. Who is cut comes again, thousands of times in a second, and is not to fill the audit log:
 * the first is reported at once, then how many more there were.
 *
 * @example
 * ```ts
 * cuts.report({ reason: 'there are 50000 connections', address: '192.0.2.1', listener: 'mqtt' })
 * ```
 */
class DisconnectionAudit {
  readonly #clock: Clock
  readonly #emit: (report: CutReport) => void
  /** How many are still to be reported. */
  readonly #counts = new Map<string, { readonly event: Event; count: number }>()
  #cancel: (() => void) | undefined

  constructor(clock: Clock, emit: (report: CutReport) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  report(cut: Cut): void {
    const { reason, listener, address, clientId, username } = cut
    const names = JSON.stringify([listener, reason, address, clientId])
    const isApart = this.#counts.has(names) || this.#counts.size < MOST_APART
    const key = isApart ? names : listener
    const known = this.#counts.get(key)
    if (known !== undefined) {
      known.count++
      return
    }
    const event: Event = isApart
      ? { event: 'cut', reason, listener, address, clientId, username }
      : { event: 'cut', reason: 'too many were cut to report each', listener }
    this.#counts.set(key, { event, count: 0 })
    this.#emit({ ...event, count: 1 })
    this.#cancel ??= this.#clock.schedule(INTERVAL, () => this.#flush())
  }

  /** Reports what is still to be reported. */
  close(): void {
    this.#cancel?.()
    this.#flush()
  }

  #flush(): void {
    this.#cancel = undefined
    const counts = [...this.#counts.values()]
    this.#counts.clear()
    for (const { event, count } of counts) if (count > 0) this.#emit({ ...event, count })
  }
}
