import { ArgumentError, reason, type StateStoreError, shown } from '../../core/util/errors.js'
import type { MachineSettings } from './events.js'

/** A connection that held for so long resets the count of attempts, ms. */
const STABLE_AFTER = 5_000
const NEVER = Number.POSITIVE_INFINITY

/**
 * When to try again: at once after a connection that held, then after growing pauses, which stay short for recoveries.
 * Recoveries of a session and new connections are counted apart. Pure; times in ms.
 */
export class Retries {
  readonly #settings: Pick<MachineSettings, 'recoveryPause' | 'reconnectStrategy'>
  #recoveries = 0
  #connects = 0
  #upSince = 0
  #at = NEVER

  constructor(settings: Pick<MachineSettings, 'recoveryPause' | 'reconnectStrategy'>) {
    this.#settings = settings
  }

  /** When the next attempt is due, if one is. */
  get at(): number {
    return this.#at
  }

  /** The attempt to connect, or to recover, that is due or under way. */
  get connects(): number {
    return this.#connects
  }

  get recoveries(): number {
    return this.#recoveries
  }

  /** The first attempt is made without asking. */
  start(): void {
    this.#connects = 1
  }

  up(now: number): void {
    this.#upSince = now
  }

  down(now: number): void {
    if (now - this.#upSince < STABLE_AFTER) return
    this.#recoveries = 0
    this.#connects = 0
  }

  /** The next attempt to recover. */
  recover(now: number): void {
    const earlier = this.#recoveries++
    this.#at = now + (earlier === 0 ? 0 : this.#settings.recoveryPause(earlier))
  }

  /** The next attempt to connect, or why there is none. */
  connect(cause: StateStoreError, now: number): StateStoreError | undefined {
    this.#connects++
    try {
      const delay = this.#settings.reconnectStrategy(this.#connects, cause)
      if (delay === false) return cause
      this.#at = now + delay
      if (Number.isFinite(this.#at) && delay >= 0) return undefined
      return new ArgumentError(`Expected the reconnect strategy to give ms or false, got \`${shown(delay)}\``)
    } catch (error) {
      return new ArgumentError(`The reconnect strategy failed: ${reason(error)}`, { cause: error })
    }
  }

  /** The attempt is made, or called off. */
  clear(): void {
    this.#at = NEVER
  }
}
