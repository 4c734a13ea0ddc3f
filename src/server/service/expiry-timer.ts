import type { Clock } from '../../core/util/clock.js'
import type { LogFailure } from '../log/log.js'

/** When the disk did not take what was due, it is tried again after so many ms. */
const RETRY = 1_000

/** What an {@link ExpiryTimer} works with. */
export interface ExpiryParts {
  readonly clock: Clock
  /** When the next key is due, ms since the Unix epoch. */
  readonly earliest: () => number | undefined
  /** Lets expire what is due by now. */
  readonly expire: () => void
  /** How much later than due, ms; default not at all. */
  readonly reluctance?: (() => number) | undefined
}

/** Sees to it that keys expire without being asked for: one timer, for the earliest deadline of all keys. */
export class ExpiryTimer {
  readonly #clock: Clock
  readonly #earliest: () => number | undefined
  readonly #expire: () => void
  readonly #reluctance: () => number
  #cancel: (() => void) | undefined
  #armedFor: number | undefined
  #paused = false
  #problem: LogFailure['problem'] | undefined

  constructor({ clock, earliest, expire, reluctance = () => 0 }: ExpiryParts) {
    this.#clock = clock
    this.#earliest = earliest
    this.#expire = expire
    this.#reluctance = reluctance
  }

  /** Whether something should have expired by now. */
  get due(): boolean {
    const earliest = this.#earliest()
    return earliest !== undefined && earliest <= this.#clock.now() && this.#problem !== 'broken'
  }

  /** Lets nothing expire of itself any more. */
  pause(): void {
    this.#paused = true
    this.#arm()
  }

  /** Lets expire what is due by now, and goes on. */
  resume(): void {
    this.#paused = false
    this.#arm()
  }

  /** Keys have changed. @param problem - why the log does not take entries, if so */
  changed(problem: LogFailure['problem'] | undefined): void {
    this.#problem = problem
    this.#arm()
  }

  #arm(): void {
    const earliest = this.#paused || this.#problem === 'broken' ? undefined : this.#earliest()
    const at = earliest !== undefined && this.#problem ? Math.max(earliest, this.#clock.now() + RETRY) : earliest
    if (at === this.#armedFor) return
    this.#cancel?.()
    this.#armedFor = at
    if (at === undefined) this.#cancel = undefined
    else this.#cancel = this.#clock.schedule(at - this.#clock.now() + this.#reluctance(), () => this.#ring())
  }

  #ring(): void {
    this.#armedFor = undefined
    this.#expire()
  }
}
