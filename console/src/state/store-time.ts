import type { Clock } from 'rx-statestore'

/** The store's clock, synchronized by the store's pulses. Times are in ms. */
export class StoreTime {
  readonly #clock: Pick<Clock, 'now'>
  #offsetMs = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  synchronize(at: number): void {
    this.#offsetMs = at - this.#clock.now()
  }

  now(): number {
    return this.#clock.now() + this.#offsetMs
  }
}
