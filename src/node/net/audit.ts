import type { Observable } from 'rxjs'
import { serverAccessChannel, serverConnectionChannel } from '../../core/diagnostics/server-channels.js'
import type { ConnectionLimit } from '../../core/diagnostics/server-events.js'
import type { Clock } from '../../core/util/clock.js'
import { ReportLimiter } from '../../core/util/report-limiter.js'
import { Timer } from '../../core/util/timer.js'
import { ReportSubject } from './report-subject.js'

/**
 * An event for the operators of a store or hub: a login, a rejection or an operation. It contains no secrets or values,
 * and each text has at most 256 characters.
 */
export interface AuditEvent {
  /** Time of the event in ISO 8601, such as `2026-01-02T12:15:16.017Z`. */
  readonly time: string
  /**
   * `order`: an operation by a user of the console. `takeover`: a store took over without the keys of another one. `cut`: `count` connections ended because of a limit. `suppressed`:
   * `count` further events in the same second, which are only counted.
   */
  readonly event: 'login' | 'refused' | 'order' | 'takeover' | 'cut' | 'suppressed'
  readonly clientId?: string | undefined
  readonly username?: string | undefined
  readonly address?: string | undefined
  /** The listener: `mqtt`, `mqtts`, `ws`, `wss`, `console`, `metrics` or `hub`. */
  readonly listener?: string | undefined
  /** Outcome of a login. */
  readonly outcome?: 'accepted' | 'refused' | undefined
  /** The rejected action. */
  readonly action?: 'connect' | 'publish' | 'subscribe' | 'read' | 'write' | undefined
  /** Topic, filter, key, hub name or path of an operation, as text. */
  readonly target?: string | undefined
  /** `quota` if a permitted action was rejected by a limit; for `cut`, the limit. */
  readonly reason?: string | undefined
  readonly count?: number | undefined
}

/** An event that is published without counting. `cut` and `suppressed` are counts that only the audit log has. */
export type AccessReport = Omit<AuditEvent, 'time' | 'event' | 'count'> & {
  readonly event: 'login' | 'refused' | 'order' | 'takeover'
}

/**
 * Maximum number of rejections per second, and of all other events, because repeated events must not fill the disk. The
 * limits are separate so that rejections cannot hide the login that follows them.
 */
const MAX_EVENTS_PER_SECOND = 200
const KINDS = ['rejection', 'other'] as const
const SECOND_MS = 1_000
const MAX_TEXT_LENGTH = 256

export class Audit {
  readonly #clock: Clock
  readonly #events$ = new ReportSubject<AuditEvent>(count => ({ time: this.#time(), event: 'suppressed', count }))
  readonly events$: Observable<AuditEvent> = this.#events$.asObservable()
  readonly #disconnectionAudit: DisconnectionAudit
  readonly #limiter: ReportLimiter<(typeof KINDS)[number]>
  readonly #suppressed = { rejection: 0, other: 0 }
  /** Reports the number of suppressed events if no event follows that would. */
  readonly #suppressionTimer: Timer

  constructor(clock: Clock) {
    this.#clock = clock
    this.#limiter = new ReportLimiter(clock, SECOND_MS, MAX_EVENTS_PER_SECOND)
    this.#suppressionTimer = new Timer(clock)
    this.#disconnectionAudit = new DisconnectionAudit(clock, event => this.#log(event))
  }

  get isObserved(): boolean {
    return this.#events$.observed || serverAccessChannel.hasSubscribers
  }

  /** Reports a login, a rejection or an operation. Only the audit log is limited in events per second. */
  report(event: AccessReport): void {
    if (serverAccessChannel.hasSubscribers) serverAccessChannel.publish(event)
    this.#log(event)
  }

  #log(event: Omit<AuditEvent, 'time'>): void {
    if (!this.#events$.observed) return
    const kind = isRejection(event) ? 'rejection' : 'other'
    if (this.#limiter.admit(kind) === undefined) {
      this.#suppressed[kind]++
      if (!this.#suppressionTimer.isSet) this.#suppressionTimer.set(SECOND_MS, () => this.#reportAllSuppressed())
      return
    }
    this.#reportSuppressed(kind)
    this.#emit(event)
  }

  /** Reports a connection that was ended because of a limit; similar ones are reported as a count. */
  reportCut(cut: Disconnection): void {
    if (serverConnectionChannel.hasSubscribers) {
      const { limit, reason, address, listener, clientId } = cut
      serverConnectionChannel.publish({ type: 'cut', limit, reason, address, listener, clientId })
    }
    if (this.#events$.observed) this.#disconnectionAudit.report(cut)
  }

  close(): void {
    this.#disconnectionAudit.close()
    this.#suppressionTimer.cancel()
    this.#reportAllSuppressed()
    this.#events$.complete()
  }

  #reportAllSuppressed(): void {
    for (const kind of KINDS) this.#reportSuppressed(kind)
  }

  #reportSuppressed(kind: (typeof KINDS)[number]): void {
    const count = this.#suppressed[kind]
    this.#suppressed[kind] = 0
    if (count > 0) this.#emit({ event: 'suppressed', count })
  }

  #emit(event: Omit<AuditEvent, 'time'>): void {
    this.#events$.next({ time: this.#time(), ...shortenTexts(event) })
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

const isRejection = ({ event, outcome }: Omit<AuditEvent, 'time'>): boolean =>
  event === 'refused' || event === 'cut' || outcome === 'refused'

/** Shortens the texts, because clients choose their length. */
function shortenTexts(event: Omit<AuditEvent, 'time'>): Omit<AuditEvent, 'time'> {
  const short = { ...event }
  for (const name of ['clientId', 'username', 'target', 'reason'] as const) {
    const text = event[name]
    if (text !== undefined && text.length > MAX_TEXT_LENGTH) short[name] = text.slice(0, MAX_TEXT_LENGTH)
  }
  return short
}

export interface Disconnection {
  readonly limit: ConnectionLimit
  readonly reason: string
  readonly address: string | undefined
  readonly listener: string
  /** The id of an authenticated client. */
  readonly clientId?: string | undefined
  readonly username?: string | undefined
}

/** A report of connections with the same limit, address and client. Without an address it covers many clients. */
interface CutReport extends Omit<Disconnection, 'address' | 'limit'> {
  readonly event: 'cut'
  readonly address?: string | undefined
  readonly count: number
}

type Event = Omit<CutReport, 'count'>

/** The interval after which similar events are reported, ms. The first event is reported immediately. */
const REPORT_INTERVAL_MS = 10_000
/** Maximum number of groups of similar events per interval; all other events are reported together. */
const MAX_SEPARATE = 100

/**
 * Reports connections that were ended because of a limit. Clients may reconnect thousands of times per second and must
 * not fill the audit log, so the first connection is reported immediately, and then the number of further ones.
 *
 * @example
 * ```ts
 * cuts.report({
 *   reason: 'limit of 50000 connections',
 *   address: '192.0.2.1',
 *   listener: 'mqtt',
 * })
 * ```
 */
class DisconnectionAudit {
  readonly #clock: Clock
  readonly #emit: (report: CutReport) => void
  readonly #counts = new Map<string, { readonly event: Event; count: number }>()
  #cancel: (() => void) | undefined

  constructor(clock: Clock, emit: (report: CutReport) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  report(cut: Disconnection): void {
    const { limit, reason, listener, address, clientId, username } = cut
    // The client chooses the reason for `origin`, and must not use up the separate groups.
    const names = JSON.stringify([listener, limit === 'origin' ? limit : reason, address, clientId])
    const isApart = this.#counts.has(names) || this.#counts.size < MAX_SEPARATE
    const key = isApart ? names : listener
    const existing = this.#counts.get(key)
    if (existing !== undefined) {
      existing.count++
      return
    }
    const event: Event = isApart
      ? { event: 'cut', reason, listener, address, clientId, username }
      : { event: 'cut', reason: 'too many to report individually', listener }
    this.#counts.set(key, { event, count: 0 })
    this.#emit({ ...event, count: 1 })
    this.#cancel ??= this.#clock.schedule(REPORT_INTERVAL_MS, () => this.#flush())
  }

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
