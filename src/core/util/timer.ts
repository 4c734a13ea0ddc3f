import { type BackoffOptions, backoff } from './backoff.js'
import type { Clock } from './clock.js'

/**
 * A timer with at most one pending task, such as the next attempt of a loop that retries with backoff.
 *
 * @example
 * ```ts
 * const timer = new Timer(clock)
 * timer.set(1_000, () => check())
 * send({
 *   done: () => timer.reset(),
 *   failed: () => timer.retry(sendAgain),
 * })
 * ```
 */
export class Timer {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #options: BackoffOptions | undefined
  #cancel: (() => void) | undefined
  #failures = 0

  /** @param options - for {@link retry} */
  constructor(clock: Pick<Clock, 'schedule'>, options?: BackoffOptions) {
    this.#clock = clock
    this.#options = options
  }

  get isSet(): boolean {
    return this.#cancel !== undefined
  }

  /** Runs a task after `delayMs`, instead of the pending task. The timer is not set while the task runs. */
  set(delayMs: number, task: () => void): void {
    this.cancel()
    this.#cancel = this.#clock.schedule(delayMs, () => {
      this.#cancel = undefined
      task()
    })
  }

  /**
   * Runs a task after a delay that grows with the number of failures. Failures while a task is pending count as one.
   */
  retry(task: () => void): void {
    if (!this.#cancel) this.set(backoff(++this.#failures, this.#options), task)
  }

  /** Starts with the first delay again, after a success. A pending task stays. */
  reset(): void {
    this.#failures = 0
  }

  cancel(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}
