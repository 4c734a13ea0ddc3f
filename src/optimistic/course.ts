import type { StateStoreError } from '../base/errors.js'
import type { Reading } from '../commands/store.js'
import type { KeySource } from '../keys/source.js'
import { Aftermath, type Fate, fateOf } from './aftermath.js'
import { Reader } from './reader.js'
import { type Fact, IGNORANT, learn, type Place, type Truth } from './truth.js'
import type { Write } from './write.js'

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
  #truth = IGNORANT
  /** Something was asked for that only a read can tell. */
  isDoubtful = false

  constructor(source: KeySource<T>, timeout: number, listener: CourseListener<T>) {
    this.#listener = listener
    this.#reader = new Reader(source, timeout, () => this.#asking())
    this.#held = new Aftermath(source.host.registry.clock, timeout, () => this.#reader.want())
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
    this.#truth = IGNORANT
    this.isDoubtful = false
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
