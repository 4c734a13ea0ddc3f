import type { Clock } from '../../core/util/clock.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { sameValue, type Truth } from './truth.js'
import type { Write } from './write.js'

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
export function fateOf(
  { bytes, from }: Pick<Write<unknown>, 'bytes' | 'from'>,
  truth: Truth,
  isOver: boolean,
): Fate | undefined {
  const { known, steps } = truth
  const hasChanged = from !== undefined && steps > from.steps
  if ((hasChanged || isOver) && sameValue(known?.bytes, bytes)) return 'written'
  if (hasChanged && (isOver || (known?.epoch ?? 0) > from.epoch)) return 'overtaken'
  return isOver ? 'not written' : undefined
}

/** A write that was sent, and of which it is not known where it belongs: its answer is lost, or came too late to tell. */
export class Aftermath<T> {
  readonly #clock: Clock
  readonly #timeout: number
  readonly #over: () => void
  #write: Write<T> | undefined
  #error: StateStoreError | undefined
  #cancel: (() => void) | undefined
  #isOver = false

  /** @param over - the time of the write is over: a read that is sent now decides */
  constructor(clock: Clock, timeout: number, over: () => void) {
    this.#clock = clock
    this.#timeout = timeout
    this.#over = over
  }

  get write(): Write<T> | undefined {
    return this.#write
  }

  /** Why its outcome is unknown; `undefined` for one that was done, but whose place is not known. */
  get error(): StateStoreError | undefined {
    return this.#error
  }

  /** Whether its time is over. */
  get isOver(): boolean {
    return this.#isOver
  }

  begin(write: Write<T>, error: StateStoreError | undefined, isUp: boolean, epoch: number): void {
    this.end()
    this.#write = write
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
    this.#write = undefined
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
