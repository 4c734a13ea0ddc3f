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

/** ms in which the watch should tell of an own write; as long as it does not, the key is read after growing pauses. */
const ECHO = 1_000
const LONGEST_ECHO = 30_000

/** What is told of a course. */
interface CourseListener<T> {
  /** A read has told something. */
  changed(): void
  /** It is known what became of a write. `error` says why it was not known before; none for one that was done. */
  decided(write: UserWrite<T>, fate: Fate, error: StateStoreError | undefined): void
}

/** What is known of a key, as it goes on, and of the write that has no place in it yet. */
export class KeyTracker<T> {
  readonly #listener: CourseListener<T>
  readonly #keyReader: KeyReader
  readonly #held: UnresolvedWrite<T>
  readonly #clock: Clock
  #confirmedState = IGNORANT
  #echo: (() => void) | undefined
  /** Something was asked for that only a read can tell. */
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

  /** The write that has no place yet. */
  get held(): UserWrite<T> | undefined {
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
    this.#keyReader.link(isUp)
    this.#held.link(isUp)
  }

  /** Whether that could be placed; if not, a read is sent. */
  learn(fact: Observation): boolean {
    const { truth, doubt } = applyObservation(this.#confirmedState, fact)
    if (truth.ahead !== this.#confirmedState.ahead || truth.epoch !== this.#confirmedState.epoch)
      this.#await(truth.ahead, ECHO)
    this.#confirmedState = truth
    if (doubt) this.#keyReader.want()
    return !doubt
  }

  /** A write was sent: what became of the one before does not matter any more. */
  sent(): void {
    this.#held.end()
  }

  /** A write that was sent and whose place is not known. */
  hold(write: UserWrite<T>, error: StateStoreError | undefined, isUp: boolean): void {
    this.#held.begin(write, error, isUp, this.#confirmedState.epoch)
    this.review()
  }

  /** Asks for what the key has, which is not what the store says it was when it was written. */
  doubt(): void {
    this.isDoubtful = true
    this.#keyReader.want()
  }

  /** Looks whether it is known by now what became of the write that is held. */
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
   * Looks for what the watch should have told. It need not: one that read again and found the key gone tells nothing of what
   * came and went before, which we may show.
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

/** ms by which a message may outlive its deadline: its expiry is told in whole seconds. */
const ROUNDING = 1_000

/** What became of a write whose answer is lost. */
export type Fate = 'written' | 'overtaken' | 'not written'

/**
 * What became of a write whose answer is lost, pure; `undefined` while that cannot be told. It was written if the key has
 * become what it wrote since it was sent. It is overtaken if a later connection shows that the key has become something
 * else. If the key is what it was, the write may still be on its way; a read that was sent after its time decides.
 *
 * @param isOver - the last thing known is such a read
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

/** A write that was sent, and of which it is not known where it belongs: its answer is lost, or came too late to tell. */
class UnresolvedWrite<T> {
  readonly #clock: Clock
  readonly #timeout: number
  readonly #over: () => void
  #userWrite: UserWrite<T> | undefined
  #error: StateStoreError | undefined
  #cancel: (() => void) | undefined
  #isOver = false

  /** @param over - the time of the write is over: a read that is sent now decides */
  constructor(clock: Clock, timeout: number, over: () => void) {
    this.#clock = clock
    this.#timeout = timeout
    this.#over = over
  }

  get write(): UserWrite<T> | undefined {
    return this.#userWrite
  }

  /** Why its outcome is unknown; `undefined` for one that was done, but whose place is not known. */
  get error(): StateStoreError | undefined {
    return this.#error
  }

  /** Whether its time is over. */
  get isOver(): boolean {
    return this.#isOver
  }

  begin(write: UserWrite<T>, error: StateStoreError | undefined, isUp: boolean, epoch: number): void {
    this.end()
    this.#userWrite = write
    this.#error = error
    if (error && isUp) this.#wait(write.from?.epoch === epoch ? ROUNDING : this.#timeout + ROUNDING)
  }

  /** On a new connection the one before is over, and what it left at a broker has its time from then on at most. */
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

/** ms until a read that failed is tried again. */
const PAUSE = 1_000

/** Reads a key for those who doubt, as often as it takes, whenever there is a connection. */
class KeyReader {
  readonly #source: KeySource<unknown>
  readonly #timeout: number
  readonly #asking: () => (reading: ReadResult) => void
  #wanted = false
  #up = false
  #request: Unsubscribable | undefined
  #pause: (() => void) | undefined

  /** @param asking - called when a read is sent; what it returns takes the answer */
  constructor(source: KeySource<unknown>, timeout: number, asking: () => (reading: ReadResult) => void) {
    this.#source = source
    this.#timeout = timeout
    this.#asking = asking
  }

  /** Asks for a read that is sent from now on; one under way is older. */
  want(): void {
    this.#wanted = true
    this.#cancel()
    if (this.#up) this.#send()
  }

  /** Whether there is a connection. */
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
    // The watch ends by what lasts, and all that waits with it.
    if (!isPermanentError(error))
      this.#pause = registry.clock.schedule(PAUSE, () => {
        if (this.#up && this.#wanted) this.#send()
      })
    // Last, for who is told may leave.
    registry.report(error)
  }

  #cancel(): void {
    this.#request?.unsubscribe()
    this.#pause?.()
    this.#request = undefined
    this.#pause = undefined
  }
}
