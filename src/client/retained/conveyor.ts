import { defer, type Observable, Subscription } from 'rxjs'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/fifo.js'

/** Something that is carried over again and again, one time after the other. */
export class Parcel {
  /** Looks what the newest is, and carries that. */
  readonly carry: () => Observable<unknown>
  /** It is over, for now. */
  readonly carried: () => void
  isWaiting = false
  isUnderway = false
  /** There is something newer than what is under way. */
  isDue = false

  constructor(carry: () => Observable<unknown>, carried: () => void) {
    this.carry = carry
    this.carried = carried
  }

  get isBusy(): boolean {
    return this.isWaiting || this.isUnderway
  }
}

/** Under way at a time: as many as make the way between two machines full. */
const MOST = 64

/**
 * Carries parcels, some at a time, the newest of each. After a fault that passes all wait, ever longer, and go on. Idle
 * until it is started, and after it is stopped; what was under way is carried again.
 */
export class Conveyor {
  readonly #clock: Clock
  readonly #passes: (error: unknown, isFirst: boolean) => boolean
  readonly #waiting = new Fifo<Parcel>()
  readonly #underway = new Map<Parcel, Subscription>()
  #isStarted = false
  #isGoing = false
  #failures = 0
  #cancel: (() => void) | undefined

  /** @param passes - whether it is worth to try again after an error; `isFirst` if none has come since all went on */
  constructor(clock: Clock, passes: (error: unknown, isFirst: boolean) => boolean) {
    this.#clock = clock
    this.#passes = passes
  }

  put(parcel: Parcel): void {
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

  stop(): void {
    this.#isStarted = false
    this.#cancel?.()
    this.#cancel = undefined
    for (const [parcel, carrying] of Array.from(this.#underway)) {
      carrying.unsubscribe()
      this.#over(parcel)
      this.put(parcel)
    }
  }

  #go(): void {
    // What is carried at once ends within this.
    if (this.#isGoing) return
    this.#isGoing = true
    for (let parcel = this.#next(); parcel !== undefined; parcel = this.#next()) this.#carry(parcel)
    this.#isGoing = false
  }

  #next(): Parcel | undefined {
    const isOpen = this.#isStarted && this.#cancel === undefined && this.#underway.size < MOST
    return isOpen ? this.#waiting.shift() : undefined
  }

  #carry(parcel: Parcel): void {
    const carrying = new Subscription()
    this.#underway.set(parcel, carrying)
    parcel.isWaiting = false
    parcel.isUnderway = true
    parcel.isDue = false
    carrying.add(
      // What is thrown is a fault like any other.
      defer(parcel.carry).subscribe({
        error: error => {
          const isDue = this.#over(parcel)
          if (this.#passes(error, this.#cancel === undefined)) this.#later(parcel)
          else this.#carried(parcel, isDue)
        },
        complete: () => {
          this.#failures = 0
          this.#carried(parcel, this.#over(parcel))
        },
      }),
    )
  }

  #carried(parcel: Parcel, isDue: boolean): void {
    if (isDue) this.put(parcel)
    parcel.carried()
    this.#go()
  }

  #over(parcel: Parcel): boolean {
    const { isDue } = parcel
    this.#underway.delete(parcel)
    parcel.isUnderway = false
    parcel.isDue = false
    return isDue
  }

  #later(parcel: Parcel): void {
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
