import { Observable } from 'rxjs'
import type { Random } from '../../../harness/random.js'
import type { StoredWrite, WriteStorage } from '../../../src/client/optimistic/index.js'
import type { StoragePlan } from './optimistic-schedule.js'
import type { VirtualTime } from './virtual-time.js'

/** A storage that outlives pages, is slow and sometimes fails. */
export class SimStorage {
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #plan: StoragePlan
  #kept: StoredWrite | undefined
  isReliable = false

  /** The stored value. */
  get value(): string | undefined {
    return this.#kept && new TextDecoder().decode(this.#kept.value)
  }

  constructor(time: VirtualTime, random: Random, plan: StoragePlan) {
    this.#time = time
    this.#random = random
    this.#plan = plan
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
      const fails = !this.isReliable && this.#random.chance(this.#plan.failureRate)
      this.#time.after(this.#random.int(0, this.#plan.maxDelayMs), () => {
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
