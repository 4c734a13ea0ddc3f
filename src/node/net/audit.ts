import { type Observable, Subject } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { type Cut, Cuts } from './cuts.js'

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
  readonly #cuts: Cuts
  #second = Number.NEGATIVE_INFINITY
  #told = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#cuts = new Cuts(clock, event => this.tell(event))
  }

  /** Hot. */
  get events$(): Observable<AuditEvent> {
    return this.#events$.asObservable()
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
    if (this.heard) this.#cuts.report(cut)
  }

  /** Nothing is told any more. */
  close(): void {
    this.#cuts.close()
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
