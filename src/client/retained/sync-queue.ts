import { defer, type Observable, Subscription } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'

/** Something that is carried over again and again, one time after the other. */
export class SyncTask {
  /** Looks what the newest is, and carries that. */
  readonly carry: () => Observable<unknown>
  /** It is over, for now. */
  readonly carried: () => void
  /** The conveyor was stopped while it was under way alone, so that it may be the cause. */
  readonly lostAlone: (cause: unknown) => void
  isWaiting = false
  isUnderway = false
  /** There is something newer than what is under way. */
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

/** Under way at a time: as many as make the way between two machines full. */
const MOST = 64

/**
 * Carries parcels, some at a time, the newest of each. After a fault that passes all wait, ever longer, and go on. Idle
 * until it is started, and after it is stopped. Parcels that were under way are carried again, before all others: the first
 * alone, and one more at a time with each that is carried. So one that stops the conveyor is alone under way in the end.
 */
export class SyncQueue {
  readonly #clock: Clock
  readonly #passes: (error: unknown, isFirst: boolean) => boolean
  #waiting = new Fifo<SyncTask>()
  readonly #underway = new Map<SyncTask, Subscription>()
  #isStarted = false
  #isGoing = false
  #failures = 0
  /** How many may be under way at a time. */
  #window = MOST
  #cancel: (() => void) | undefined

  /** @param passes - whether it is worth to try again after an error; `isFirst` if none has come since all went on */
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

  /** @param cause - reported to a parcel that is under way alone */
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
    // What is carried at once ends within this.
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
      // What is thrown is a fault like any other.
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
    // Those that were under way together fail together, and count once.
    if (isFirst)
      this.#cancel = this.#clock.schedule(backoff(++this.#failures), () => {
        this.#cancel = undefined
        this.#go()
      })
    this.put(parcel)
  }
}
