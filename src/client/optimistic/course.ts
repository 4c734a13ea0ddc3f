import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { Reading } from '../requests/commands.js'
import { Aftermath, type Fate, fateOf } from './aftermath.js'
import { Reader } from './reader.js'
import { type Fact, IGNORANT, learn, type Place, type Truth } from './truth.js'
import type { Write } from './write.js'

/** ms in which the watch should tell of an own write; as long as it does not, the key is read after growing pauses. */
const ECHO = 1_000
const LONGEST_ECHO = 30_000

/** What is told of a course. */
export interface CourseListener<T> {
  /** A read has told something. */
  changed(): void
  /** It is known what became of a write. `error` says why it was not known before; none for one that was done. */
  decided(write: Write<T>, fate: Fate, error: StateStoreError | undefined): void
}

/** What is known of a key, as it goes on, and of the write that has no place in it yet. */
export class Course<T> {
  readonly #listener: CourseListener<T>
  readonly #reader: Reader
  readonly #held: Aftermath<T>
  readonly #clock: Clock
  #truth = IGNORANT
  #echo: (() => void) | undefined
  /** Something was asked for that only a read can tell. */
  isDoubtful = false

  constructor(source: KeySource<T>, timeout: number, listener: CourseListener<T>) {
    this.#listener = listener
    this.#reader = new Reader(source, timeout, () => this.#asking())
    this.#clock = source.host.registry.clock
    this.#held = new Aftermath(this.#clock, timeout, () => this.#reader.want())
  }

  get truth(): Truth {
    return this.#truth
  }

  get place(): Place {
    const { epoch, steps } = this.#truth
    return { epoch, steps }
  }

  /** The write that has no place yet. */
  get held(): Write<T> | undefined {
    return this.#held.write
  }

  /** Why the outcome of that one is unknown, if it is. */
  get error(): StateStoreError | undefined {
    return this.#held.error
  }

  /** Whether the connection is there. */
  link(isUp: boolean): void {
    if (!isUp) {
      this.learn({ type: 'lost' })
      this.isDoubtful = false
    }
    this.#reader.link(isUp)
    this.#held.link(isUp)
  }

  /** Whether that could be placed; if not, a read is sent. */
  learn(fact: Fact): boolean {
    const { truth, doubt } = learn(this.#truth, fact)
    if (truth.ahead !== this.#truth.ahead || truth.epoch !== this.#truth.epoch) this.#await(truth.ahead, ECHO)
    this.#truth = truth
    if (doubt) this.#reader.want()
    return !doubt
  }

  /** A write was sent: what became of the one before does not matter any more. */
  sent(): void {
    this.#held.end()
  }

  /** A write that was sent and whose place is not known. */
  hold(write: Write<T>, error: StateStoreError | undefined, isUp: boolean): void {
    this.#held.begin(write, error, isUp, this.#truth.epoch)
    this.review()
  }

  /** Asks for what the key has, which is not what the store says it was when it was written. */
  doubt(): void {
    this.isDoubtful = true
    this.#reader.want()
  }

  /** Looks whether it is known by now what became of the write that is held. */
  review(isOver = false): void {
    const { write, error } = this.#held
    const fate = write && error && fateOf(write, this.#truth, isOver)
    if (fate) this.#decide(write, fate, error)
  }

  stop(): void {
    this.#reader.link(false)
    this.#reader.stop()
    this.#held.end()
    this.#await(false, 0)
    this.#truth = IGNORANT
    this.isDoubtful = false
  }

  /**
   * Looks for what the watch should have told. It need not: one that read again and found the key gone tells nothing of what
   * came and went before, which we may show.
   */
  #await(isDue: boolean, pause: number): void {
    this.#echo?.()
    if (!isDue) return
    this.#echo = this.#clock.schedule(pause, () => {
      this.#await(true, Math.min(2 * pause, LONGEST_ECHO))
      this.#reader.want()
    })
  }

  #asking(): (reading: Reading) => void {
    const from = this.place
    const { isOver } = this.#held
    return reading => {
      if (!this.learn({ type: 'read', reading, from })) return
      this.isDoubtful = false
      const { write, error } = this.#held
      if (write && !error) this.#decide(write, fateOf(write, this.#truth, true) ?? 'overtaken', undefined)
      else this.review(isOver)
      this.#listener.changed()
    }
  }

  #decide(write: Write<T>, fate: Fate, error: StateStoreError | undefined): void {
    this.#held.end()
    this.#listener.decided(write, fate, error)
  }
}
