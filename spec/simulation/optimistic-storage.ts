import { Observable } from 'rxjs'
import type { StoredWrite, WriteStorage } from '../../src/client/optimistic/index.js'
import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

/** A storage that outlives pages, is slow and sometimes fails. */
export class SimStorage {
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #failure: number
  #kept: StoredWrite | undefined
  isReliable = false

  constructor(time: VirtualTime, random: Random, bad: number) {
    this.#time = time
    this.#random = random
    this.#failure = bad
  }

  get kept(): StoredWrite | undefined {
    return this.#kept
  }

  /** Returns the storage as a page sees it. The page may close before an operation is complete. */
  port(): WriteStorage {
    return {
      load: () => this.#later(() => this.#kept),
      save: (_, write) =>
        this.#later(() => {
          this.#kept = write
        }),
      remove: (_, id) =>
        this.#later(() => {
          const isThere = this.#kept?.id === id
          if (isThere) this.#kept = undefined
          return isThere
        }),
    }
  }

  #later<R>(run: () => R): Observable<R> {
    return new Observable(subscriber => {
      const fails = !this.isReliable && this.#random.chance(this.#failure)
      this.#time.after(this.#random.int(0, 30), () => {
        if (fails) {
          subscriber.error(new Error('the disk is full'))
          return
        }
        subscriber.next(run())
        subscriber.complete()
      })
    })
  }
}
