import type { Clock } from '../../core/util/clock.js'

/** No shorter pauses than that, ms; rather more at a time. */
const SHORTEST_PAUSE = 20

/** Takes what there is in turn, evenly, so that each had its turn once in a given time. */
export class VerificationScheduler<T> {
  readonly #clock: Clock
  readonly #every: number
  readonly #all: ReadonlyMap<string, T>
  readonly #look: (one: T) => void
  /**
   * Names of those that have not had their turn in this round, the next one last. Not an iterator: one that is kept keeps
   * every table that the map has outgrown since, with all that was in them.
   */
  #rest: string[] = []
  #cancel: (() => void) | undefined

  /** @param every - ms; 0 for never */
  constructor(clock: Clock, every: number, all: ReadonlyMap<string, T>, look: (one: T) => void) {
    this.#clock = clock
    this.#every = every
    this.#all = all
    this.#look = look
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
    const next = this.#take() ?? this.#begin()
    if (next !== undefined) this.#look(next)
  }

  /** The next one of this round; what has gone meanwhile has no turn. */
  #take(): T | undefined {
    for (let name = this.#rest.pop(); name !== undefined; name = this.#rest.pop()) {
      const next = this.#all.get(name)
      if (next !== undefined) return next
    }
    return undefined
  }

  #begin(): T | undefined {
    this.#rest = Array.from(this.#all.keys()).reverse()
    return this.#take()
  }
}
