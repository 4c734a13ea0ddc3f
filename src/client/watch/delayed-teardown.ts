import type { Clock } from '../../core/util/clock.js'

/** Ends what has no listener any more, after a while in which one may come. */
export class DelayedTeardown<W> {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #end: (watch: W) => void
  readonly #pending = new Map<W, () => void>()

  constructor(clock: Pick<Clock, 'schedule'>, end: (watch: W) => void) {
    this.#clock = clock
    this.#end = end
  }

  /** @param delay - ms; 0 for at once */
  end(watch: W, delay: number): void {
    if (delay === 0) this.#end(watch)
    else
      this.#pending.set(
        watch,
        this.#clock.schedule(delay, () => this.#end(watch)),
      )
  }

  /** Somebody came, or it has ended otherwise. */
  callOff(watch: W): void {
    this.#pending.get(watch)?.()
    this.#pending.delete(watch)
  }
}
