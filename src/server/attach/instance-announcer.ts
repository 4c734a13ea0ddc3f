import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'

/** How often it is repeated at most, ms: everybody at the broker gets it. */
const MIN_INTERVAL_MS = 1_000

/** Repeats the announcement of a life when something else was said in its place, however often that is. */
export class InstanceAnnouncer {
  readonly #clock: Clock
  readonly #announce: () => void
  #repeatedAt = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined

  constructor(clock: Clock, announce: () => void) {
    this.#clock = clock
    this.#announce = announce
  }

  /** Announces it once more, now or soon. */
  repeat(): void {
    if (this.#cancel !== undefined) return
    const wait = this.#repeatedAt + MIN_INTERVAL_MS - this.#clock.monotonic()
    if (wait <= 0) this.#repeat()
    else this.#cancel = this.#clock.schedule(wait, () => this.#repeat())
  }

  /** What is due is left out. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #repeat(): void {
    this.#cancel = undefined
    this.#repeatedAt = this.#clock.monotonic()
    this.#announce()
  }
}

const MOST = 100

/** Lives that a store has announced, of which a broker may repeat old ones late; the newest are kept. */
export class OwnInstanceIds {
  readonly #lives = new Set<string>()

  /** A new one. */
  next(): string {
    const life = toHex(randomBytes(8)).toLowerCase()
    this.#lives.add(life)
    const [oldest] = this.#lives
    if (this.#lives.size > MOST && oldest !== undefined) this.#lives.delete(oldest)
    return life
  }

  /** Whether a life was one of them. */
  has(life: string): boolean {
    return this.#lives.has(life)
  }
}
