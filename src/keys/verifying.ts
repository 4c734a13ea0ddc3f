import type { Clock } from '../base/clock.js'

/** No shorter pauses than that, ms; rather more at a time. */
const SHORTEST_PAUSE = 20

/** Takes what there is in turn, evenly, so that each had its turn once in a given time. */
export class Verifying<T> {
  readonly #clock: Clock
  readonly #every: number
  readonly #all: ReadonlyMap<string, T>
  readonly #look: (one: T) => void
  /** Of a map, so that what comes and goes meanwhile does not disturb it. */
  #rest: Iterator<T>
  #cancel: (() => void) | undefined

  /** @param every - ms; 0 for never */
  constructor(clock: Clock, every: number, all: ReadonlyMap<string, T>, look: (one: T) => void) {
    this.#clock = clock
    this.#every = every
    this.#all = all
    this.#look = look
    this.#rest = all.values()
  }

  start(): void {
    this.stop()
    if (this.#every > 0) this.#arm()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #arm(): void {
    const pause = Math.max(SHORTEST_PAUSE, this.#every / Math.max(1, this.#all.size))
    this.#cancel = this.#clock.schedule(pause, () => {
      const count = Math.ceil((this.#all.size * pause) / this.#every)
      this.#arm()
      for (let i = 0; i < count; i++) this.#next()
    })
  }

  #next(): void {
    let next = this.#rest.next()
    if (next.done) {
      this.#rest = this.#all.values()
      next = this.#rest.next()
    }
    if (!next.done) this.#look(next.value)
  }
}
