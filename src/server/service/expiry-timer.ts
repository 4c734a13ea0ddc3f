import type { Clock } from '../../core/util/clock.js'
import type { LogFailure } from '../log/log.js'

/** The interval of expiry attempts while the log rejects entries. */
const RETRY_MS = 1_000
const NEVER = Number.NEGATIVE_INFINITY

export interface ExpiryTimerOptions {
  readonly clock: Clock
  readonly nextDeadline: () => number | undefined
  /** Returns the time in ms until which keys count as absent, although some remain. Default: never. */
  readonly expiredUntil?: (() => number) | undefined
  readonly expire: () => void
  /** Returns the delay in ms after the deadline. Default: 0. */
  readonly delayMs?: (() => number) | undefined
}

/** Expires keys that are not accessed. One timer covers the earliest deadline of all keys. */
export class ExpiryTimer {
  readonly #clock: Clock
  readonly #nextDeadline: () => number | undefined
  readonly #expiredUntil: () => number
  readonly #expire: () => void
  readonly #delayMs: () => number
  #cancel: (() => void) | undefined
  #armedFor: number | undefined
  #isPaused = false
  #problem: LogFailure['problem'] | undefined

  constructor({ clock, nextDeadline, expiredUntil = () => NEVER, expire, delayMs = () => 0 }: ExpiryTimerOptions) {
    this.#clock = clock
    this.#nextDeadline = nextDeadline
    this.#expiredUntil = expiredUntil
    this.#expire = expire
    this.#delayMs = delayMs
  }

  /** Returns whether a read may find a key that has expired. */
  get isDue(): boolean {
    const deadline = this.#nextDeadline()
    if (deadline === undefined || this.#problem === 'broken') return false
    const now = this.#clock.now()
    return deadline <= now && this.#expiredUntil() < now
  }

  pause(): void {
    this.#isPaused = true
    this.#arm()
  }

  /** Resumes the timer. Overdue keys expire as soon as the timer fires. */
  resume(): void {
    this.#isPaused = false
    this.#arm()
  }

  /**
   * Rearms the timer after a change of keys.
   *
   * @param problem - reason why the log rejects entries, if it does
   */
  update(problem: LogFailure['problem'] | undefined): void {
    this.#problem = problem
    this.#arm()
  }

  #arm(): void {
    const deadline = this.#isPaused || this.#problem === 'broken' ? undefined : this.#nextDeadline()
    const at = deadline !== undefined && this.#problem ? Math.max(deadline, this.#clock.now() + RETRY_MS) : deadline
    // Each rejected write would otherwise postpone the next attempt.
    if (at === this.#armedFor || this.#isArmedWithin(deadline, at)) return
    this.#cancel?.()
    this.#armedFor = at
    if (at === undefined) this.#cancel = undefined
    else {
      // The keys that remain have already been delayed.
      const delayMs = at <= this.#expiredUntil() ? 0 : this.#delayMs()
      this.#cancel = this.#clock.schedule(at - this.#clock.now() + delayMs, () => this.#fire())
    }
  }

  #isArmedWithin(earliest: number | undefined, latest: number | undefined): boolean {
    const at = this.#armedFor
    return at !== undefined && earliest !== undefined && latest !== undefined && earliest <= at && at <= latest
  }

  #fire(): void {
    this.#armedFor = undefined
    this.#expire()
  }
}
