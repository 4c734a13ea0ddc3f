import type { Duplex } from 'node:stream'
import type { Clock } from '../../clock.js'

/** How long a decision may take, ms, and how many may be awaited. */
const HANDSHAKE_TIMEOUT = 10_000
export const MOST_HANDSHAKES = 1_000

/** Handshakes that wait for the application to say who a client is. */
export class Handshakes {
  readonly #clock: Clock
  readonly #waiting = new Map<Duplex, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether there are as many as there may be. */
  get full(): boolean {
    return this.#waiting.size >= MOST_HANDSHAKES
  }

  /** What is decided on a connection, or `undefined` when that takes too long. */
  async wait<T>(stream: Duplex, decision: Promise<T>): Promise<T | undefined> {
    let cancel = (): void => undefined
    const late = new Promise<undefined>(resolve => {
      const giveUp = (): void => resolve(undefined)
      cancel = this.#clock.schedule(HANDSHAKE_TIMEOUT, giveUp)
      this.#waiting.set(stream, giveUp)
    })
    try {
      return await Promise.race([decision, late])
    } finally {
      cancel()
      this.#waiting.delete(stream)
    }
  }

  /** Cuts the connections of all of them, whatever will be decided. */
  close(): void {
    for (const [stream, giveUp] of this.#waiting) {
      stream.destroy()
      giveUp()
    }
  }
}
