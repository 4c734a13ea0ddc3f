import type { Clock } from '../../core/util/clock.js'

/** Tears down an item without listeners, unless one arrives within the delay. */
export class DelayedTeardown<W> {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #teardown: (watch: W) => void
  readonly #pending = new Map<W, () => void>()

  constructor(clock: Pick<Clock, 'schedule'>, end: (watch: W) => void) {
    this.#clock = clock
    this.#teardown = end
  }

  schedule(watch: W, delayMs: number): void {
    if (delayMs === 0) this.#teardown(watch)
    else
      this.#pending.set(
        watch,
        this.#clock.schedule(delayMs, () => this.#teardown(watch)),
      )
  }

  cancel(watch: W): void {
    this.#pending.get(watch)?.()
    this.#pending.delete(watch)
  }
}
