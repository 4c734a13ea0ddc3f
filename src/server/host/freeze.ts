import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, shown } from '../../core/util/errors.js'
import type { Life } from './life.js'

/** Lets a store stand still for a while. */
export class Freeze {
  readonly #clock: Clock
  readonly #life: () => Life
  #until: number | undefined
  #cancel: () => void = () => undefined

  /** @param life - the one that is being lived */
  constructor(clock: Clock, life: () => Life) {
    this.#clock = clock
    this.#life = life
  }

  /** When it moves again, ms since the Unix epoch; `undefined` when it moves. */
  get until(): number | undefined {
    return this.#until
  }

  /** From now on nothing moves for so many ms, however long it was to stand still before; 0 lets it move again. */
  begin(ms: number): void {
    this.#cancel()
    if (ms === 0) {
      this.#end()
      return
    }
    this.#until = this.#clock.now() + ms
    this.#life().freeze()
    this.#cancel = this.#clock.schedule(ms, () => this.#end())
  }

  /** The life that stood still is over. */
  forget(): void {
    this.#cancel()
    this.#until = undefined
  }

  #end(): void {
    this.#until = undefined
    this.#life().thaw()
  }
}

/** Throws {@link ArgumentError} unless it is a time to stand still, ms. */
export function checkFreeze(ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 0) return
  throw new ArgumentError(`Expected \`ms\` to be a whole number from 0, got \`${shown(ms)}\` (${typeof ms})`)
}
