import { defer, type Observable, Subscription } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'

/** A repeated transfer of the latest value of one pair. */
export class SyncTask {
  /** Transfers the latest value. */
  readonly carry: () => Observable<unknown>
  readonly carried: () => void
  /** The queue was stopped while only this task was running, so it may be the cause. */
  readonly lostAlone: (cause: unknown) => void
  isWaiting = false
  isUnderway = false
  /** Whether a newer value arrived during the transfer. */
  isDue = false

  constructor(
    carry: () => Observable<unknown>,
    carried: () => void,
    lostAlone: (cause: unknown) => void = () => undefined,
  ) {
    this.carry = carry
    this.carried = carried
    this.lostAlone = lostAlone
  }

  get isBusy(): boolean {
    return this.isWaiting || this.isUnderway
  }
}

/** Maximum number of concurrent transfers; enough to use the bandwidth between two machines. */
const MOST = 64

/**
 * Runs tasks concurrently. A transient error pauses the queue, with backoff. Idle until started, and after `stop`,
 * which requeues running tasks at the front. The first then runs alone, and each completed one allows one more, so that
 * a task which causes stops ends up running alone.
 */
export class SyncQueue {
  readonly #clock: Clock
  readonly #passes: (error: unknown, isFirst: boolean) => boolean
  #waiting = new Fifo<SyncTask>()
  readonly #underway = new Map<SyncTask, Subscription>()
  #isStarted = false
  #isGoing = false
  #failures = 0
  /** Current limit of concurrent tasks. */
  #window = MOST
  #cancel: (() => void) | undefined

  /** @param passes - whether to retry after an error; `isFirst` unless the queue is already paused */
  constructor(clock: Clock, passes: (error: unknown, isFirst: boolean) => boolean) {
    this.#clock = clock
    this.#passes = passes
  }

  put(parcel: SyncTask): void {
    if (parcel.isUnderway) parcel.isDue = true
    else if (!parcel.isWaiting) {
      parcel.isWaiting = true
      this.#waiting.push(parcel)
      this.#go()
    }
  }

  start(): void {
    this.#isStarted = true
    this.#go()
  }

  /** @param cause - reported to a task that was running alone */
  stop(cause?: unknown): void {
    this.#isStarted = false
    this.#cancel?.()
    this.#cancel = undefined
    const underway = Array.from(this.#underway)
    if (underway.length === 0) return
    const later = this.#waiting
    this.#waiting = new Fifo<SyncTask>()
    this.#window = 1
    for (const [parcel, carrying] of underway) {
      carrying.unsubscribe()
      this.#over(parcel)
      this.put(parcel)
    }
    for (const parcel of later) this.#waiting.push(parcel)
    const [only] = underway
    if (only !== undefined && underway.length === 1) only[0].lostAlone(cause)
  }

  #go(): void {
    // Synchronous tasks complete within this loop.
    if (this.#isGoing) return
    this.#isGoing = true
    for (let parcel = this.#next(); parcel !== undefined; parcel = this.#next()) this.#carry(parcel)
    this.#isGoing = false
  }

  #next(): SyncTask | undefined {
    const isOpen = this.#isStarted && this.#cancel === undefined && this.#underway.size < this.#window
    return isOpen ? this.#waiting.shift() : undefined
  }

  #carry(parcel: SyncTask): void {
    const carrying = new Subscription()
    this.#underway.set(parcel, carrying)
    parcel.isWaiting = false
    parcel.isUnderway = true
    parcel.isDue = false
    carrying.add(
      // Treats exceptions like errors.
      defer(parcel.carry).subscribe({
        error: error => {
          this.#widen()
          const isDue = this.#over(parcel)
          if (this.#passes(error, this.#cancel === undefined)) this.#later(parcel)
          else this.#carried(parcel, isDue)
        },
        complete: () => {
          this.#failures = 0
          this.#widen()
          this.#carried(parcel, this.#over(parcel))
        },
      }),
    )
  }

  #carried(parcel: SyncTask, isDue: boolean): void {
    if (isDue) this.put(parcel)
    parcel.carried()
    this.#go()
  }

  #widen(): void {
    this.#window = Math.min(MOST, this.#window + 1)
  }

  #over(parcel: SyncTask): boolean {
    const { isDue } = parcel
    this.#underway.delete(parcel)
    parcel.isUnderway = false
    parcel.isDue = false
    return isDue
  }

  #later(parcel: SyncTask): void {
    const isFirst = this.#cancel === undefined
    // Tasks that fail together count as one failure.
    if (isFirst)
      this.#cancel = this.#clock.schedule(backoff(++this.#failures), () => {
        this.#cancel = undefined
        this.#go()
      })
    this.put(parcel)
  }
}
