import type { Clock } from '../../core/util/clock.js'

/** Holds back what is gathered, until so much has come that no more is to be expected, or its time is over. */
export class Hold {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #over: () => void
  #cancel: (() => void) | undefined
  #enough = 0

  /** @param over - called when it has held back something for as long as it may */
  constructor(clock: Pick<Clock, 'schedule'>, over: () => void) {
    this.#clock = clock
    this.#over = over
  }

  /** @param delay - how long, ms @param enough - how much is all that may come */
  begin(delay: number, enough: number): void {
    this.end()
    this.#enough = enough
    this.#cancel = this.#clock.schedule(delay, () => {
      this.#cancel = undefined
      this.#over()
    })
  }

  /** Whether so much is to be held back yet; it ends when that is enough. */
  keeps(count: number): boolean {
    if (this.#cancel === undefined) return false
    if (count >= this.#enough) this.end()
    return this.#cancel !== undefined
  }

  end(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}
