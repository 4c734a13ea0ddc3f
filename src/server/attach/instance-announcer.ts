import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { RecentSet } from '../../core/util/recent-set.js'
import { Timer } from '../../core/util/timer.js'

/** The minimum interval of announcements, each of which may reach every client of the broker. */
const MIN_INTERVAL_MS = 1_000

export class InstanceAnnouncer {
  readonly #clock: Clock
  readonly #announce: () => void
  #repeatedAt = Number.NEGATIVE_INFINITY
  readonly #timer: Timer

  constructor(clock: Clock, announce: () => void) {
    this.#clock = clock
    this.#timer = new Timer(clock)
    this.#announce = announce
  }

  scheduleRepeat(): void {
    if (this.#timer.isSet) return
    const delayMs = this.#repeatedAt + MIN_INTERVAL_MS - this.#clock.monotonic()
    if (delayMs <= 0) this.#repeatNow()
    else this.#timer.set(delayMs, () => this.#repeatNow())
  }

  stop(): void {
    this.#timer.cancel()
  }

  #repeatNow(): void {
    this.#repeatedAt = this.#clock.monotonic()
    this.#announce()
  }
}

const MAX_IDS = 100

/**
 * Remembers the latest instance ids, and so recognises this store's own announcements when a broker delivers them late.
 */
export class OwnInstanceIds {
  readonly #ids = new RecentSet<string>(MAX_IDS)

  next(): string {
    const id = toHex(randomBytes(8)).toLowerCase()
    this.#ids.add(id)
    return id
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }
}
