import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'

/** The minimum interval of announcements, each of which may go to every client of the broker. */
const MIN_INTERVAL_MS = 1_000

export class InstanceAnnouncer {
  readonly #clock: Clock
  readonly #announce: () => void
  #repeatedAt = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined

  constructor(clock: Clock, announce: () => void) {
    this.#clock = clock
    this.#announce = announce
  }

  scheduleRepeat(): void {
    if (this.#cancel !== undefined) return
    const delayMs = this.#repeatedAt + MIN_INTERVAL_MS - this.#clock.monotonic()
    if (delayMs <= 0) this.#repeatNow()
    else this.#cancel = this.#clock.schedule(delayMs, () => this.#repeatNow())
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #repeatNow(): void {
    this.#cancel = undefined
    this.#repeatedAt = this.#clock.monotonic()
    this.#announce()
  }
}

const MAX_IDS = 100

/**
 * Remembers the latest instance ids, and so recognises this store's own announcements when a broker delivers them late.
 */
export class OwnInstanceIds {
  readonly #ids = new Set<string>()

  next(): string {
    const id = toHex(randomBytes(8)).toLowerCase()
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > MAX_IDS && oldest !== undefined) this.#ids.delete(oldest)
    return id
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }
}
