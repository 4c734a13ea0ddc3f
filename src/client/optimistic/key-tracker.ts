import type { Unsubscribable } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { KeySource } from '../keys/source.js'
import type { ReadResult } from '../requests/commands.js'
import { isPermanentError } from '../watch/permanent-errors.js'
import {
  applyObservation,
  type ConfirmedState,
  IGNORANT,
  type Observation,
  type Place,
  sameValue,
} from './confirmed-state.js'
import type { UserWrite } from './user-write.js'

/** The watch should confirm an own write within this time, ms; otherwise the key is read, with backoff. */
const ECHO = 1_000
const LONGEST_ECHO = 30_000

interface CourseListener<T> {
  /** A read has updated the state. */
  changed(): void
  /** The outcome of a write is known. `error` is why it was unknown before; undefined for an applied write. */
  decided(write: UserWrite<T>, fate: Fate, error: StateStoreError | undefined): void
}

/** Tracks the known state of a key, and the sent write whose outcome or position is unknown. */
export class KeyTracker<T> {
  readonly #listener: CourseListener<T>
  readonly #keyReader: KeyReader
  readonly #held: UnresolvedWrite<T>
  readonly #clock: Clock
  #confirmedState = IGNORANT
  #echo: (() => void) | undefined
  /** Whether the current value must be read. */
  isDoubtful = false

  constructor(source: KeySource<T>, timeout: number, listener: CourseListener<T>) {
    this.#listener = listener
    this.#keyReader = new KeyReader(source, timeout, () => this.#asking())
    this.#clock = source.host.registry.clock
    this.#held = new UnresolvedWrite(this.#clock, timeout, () => this.#keyReader.want())
  }

  get truth(): ConfirmedState {
    return this.#confirmedState
  }

  get place(): Place {
    const { epoch, steps } = this.#confirmedState
    return { epoch, steps }
  }

  /** The sent write without a known position. */
  get held(): UserWrite<T> | undefined {
    return this.#held.write
  }

  /** Why its outcome is unknown. */
  get error(): StateStoreError | undefined {
    return this.#held.error
  }

  link(isUp: boolean): void {
    if (!isUp) {
      this.learn({ type: 'lost' })
      this.isDoubtful = false
    }
    this.#keyReader.link(isUp)
    this.#held.link(isUp)
  }

  /** Returns whether the observation could be ordered; otherwise a read is sent. */
  learn(fact: Observation): boolean {
    const { truth, doubt } = applyObservation(this.#confirmedState, fact)
    if (truth.ahead !== this.#confirmedState.ahead || truth.epoch !== this.#confirmedState.epoch)
      this.#await(truth.ahead, ECHO)
    this.#confirmedState = truth
    if (doubt) this.#keyReader.want()
    return !doubt
  }

  /** A newer write was sent, so the outcome of the previous one no longer matters. */
  sent(): void {
    this.#held.end()
  }

  /** Tracks a sent write whose position is unknown. */
  hold(write: UserWrite<T>, error: StateStoreError | undefined, isUp: boolean): void {
    this.#held.begin(write, error, isUp, this.#confirmedState.epoch)
    this.review()
  }

  /** Reads the key, because the store contradicts the known value. */
  doubt(): void {
    this.isDoubtful = true
    this.#keyReader.want()
  }

  /** Checks whether the outcome of the unresolved write is known. */
  review(isOver = false): void {
    const { write, error } = this.#held
    const fate = write && error && resolveOutcome(write, this.#confirmedState, isOver)
    if (fate) this.#decide(write, fate, error)
  }

  stop(): void {
    this.#keyReader.link(false)
    this.#keyReader.stop()
    this.#held.end()
    this.#await(false, 0)
    this.#confirmedState = IGNORANT
    this.isDoubtful = false
  }

  /**
   * Reads what the watch has not confirmed. The watch may stay silent: after a resync that finds the key missing, it
   * does not emit earlier values, which this view may show.
   */
  #await(isDue: boolean, pause: number): void {
    this.#echo?.()
    if (!isDue) return
    this.#echo = this.#clock.schedule(pause, () => {
      this.#await(true, Math.min(2 * pause, LONGEST_ECHO))
      this.#keyReader.want()
    })
  }

  #asking(): (reading: ReadResult) => void {
    const from = this.place
    const { isOver } = this.#held
    return reading => {
      if (!this.learn({ type: 'read', reading, from })) return
      this.isDoubtful = false
      const { write, error } = this.#held
      if (write && !error)
        this.#decide(write, resolveOutcome(write, this.#confirmedState, true) ?? 'overtaken', undefined)
      else this.review(isOver)
      this.#listener.changed()
    }
  }

  #decide(write: UserWrite<T>, fate: Fate, error: StateStoreError | undefined): void {
    this.#held.end()
    this.#listener.decided(write, fate, error)
  }
}

/** MQTT expiry has a resolution of seconds, so a message may outlive its deadline by this much, ms. */
const ROUNDING = 1_000

/** The outcome of a write without a response. */
export type Fate = 'written' | 'overtaken' | 'not written'

/**
 * Derives the outcome of a write without a response, or `undefined` while unknown. Pure. It was written if the key has
 * since changed to its value, and overtaken if a later connection shows another change. If the key is unchanged, the
 * write may still be in flight; a read sent after its expiry decides.
 *
 * @param isOver - whether the latest observation is such a read
 */
function resolveOutcome(
  { bytes, from }: Pick<UserWrite<unknown>, 'bytes' | 'from'>,
  truth: ConfirmedState,
  isOver: boolean,
): Fate | undefined {
  const { known, steps } = truth
  const hasChanged = from !== undefined && steps > from.steps
  if ((hasChanged || isOver) && sameValue(known?.bytes, bytes)) return 'written'
  if (hasChanged && (isOver || (known?.epoch ?? 0) > from.epoch)) return 'overtaken'
  return isOver ? 'not written' : undefined
}

/** A sent write with unknown outcome or position: its response was lost, or arrived too late to be ordered. */
class UnresolvedWrite<T> {
  readonly #clock: Clock
  readonly #timeout: number
  readonly #over: () => void
  #userWrite: UserWrite<T> | undefined
  #error: StateStoreError | undefined
  #cancel: (() => void) | undefined
  #isOver = false

  /** @param over - called once the write has expired, when a read can decide */
  constructor(clock: Clock, timeout: number, over: () => void) {
    this.#clock = clock
    this.#timeout = timeout
    this.#over = over
  }

  get write(): UserWrite<T> | undefined {
    return this.#userWrite
  }

  /** Why its outcome is unknown; `undefined` for an applied write without a known position. */
  get error(): StateStoreError | undefined {
    return this.#error
  }

  get isOver(): boolean {
    return this.#isOver
  }

  begin(write: UserWrite<T>, error: StateStoreError | undefined, isUp: boolean, epoch: number): void {
    this.end()
    this.#userWrite = write
    this.#error = error
    if (error && isUp) this.#wait(write.from?.epoch === epoch ? ROUNDING : this.#timeout + ROUNDING)
  }

  /** A new connection ends the previous one, so a message left at the broker expires after at most the timeout. */
  link(isUp: boolean): void {
    this.#cancel?.()
    this.#isOver = false
    if (isUp && this.#error) this.#wait(this.#timeout + ROUNDING)
  }

  end(): void {
    this.#cancel?.()
    this.#userWrite = undefined
    this.#error = undefined
    this.#isOver = false
  }

  #wait(delay: number): void {
    this.#cancel = this.#clock.schedule(delay, () => {
      this.#isOver = true
      this.#over()
    })
  }
}

/** Delay before a failed read is retried, ms. */
const PAUSE = 1_000

/** Reads a key on request, with retries, whenever there is a connection. */
class KeyReader {
  readonly #source: KeySource<unknown>
  readonly #timeout: number
  readonly #asking: () => (reading: ReadResult) => void
  #wanted = false
  #up = false
  #request: Unsubscribable | undefined
  #pause: (() => void) | undefined

  /** @param asking - called when a read is sent; returns the handler of its result */
  constructor(source: KeySource<unknown>, timeout: number, asking: () => (reading: ReadResult) => void) {
    this.#source = source
    this.#timeout = timeout
    this.#asking = asking
  }

  /** Requests a read that is sent after this call; an earlier one is cancelled. */
  want(): void {
    this.#wanted = true
    this.#cancel()
    if (this.#up) this.#send()
  }

  link(isUp: boolean): void {
    this.#up = isUp
    this.#cancel()
    if (isUp && this.#wanted) this.#send()
  }

  stop(): void {
    this.#wanted = false
    this.#cancel()
  }

  #send(): void {
    const { host, key } = this.#source
    const answered = this.#asking()
    this.#request = host.store.read(key, this.#timeout).subscribe({
      next: reading => {
        this.#wanted = false
        answered(reading)
      },
      error: (error: StateStoreError) => this.#failed(error),
    })
  }

  #failed(error: StateStoreError): void {
    const { registry } = this.#source.host
    // A permanent error also ends the watch, and this reader with it.
    if (!isPermanentError(error))
      this.#pause = registry.clock.schedule(PAUSE, () => {
        if (this.#up && this.#wanted) this.#send()
      })
    // Last, because the callback may stop the reader.
    registry.report(error)
  }

  #cancel(): void {
    this.#request?.unsubscribe()
    this.#pause?.()
    this.#request = undefined
    this.#pause = undefined
  }
}
