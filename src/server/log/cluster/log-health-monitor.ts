import type { Clock } from '../../../core/util/clock.js'

/**
 * The log's state for this node. `waiting`: for a quorum or a connection. `away`: for longer than the stall
 * timeout.
 */
export type Availability = 'kept' | 'waiting' | 'away'

export interface LogHealthHost {
  readonly clock: Clock
  /** Returns the age in ms of this node's oldest message in flight. */
  readonly oldestAgeMs: () => number
  /** Returns whether this node has messages in flight. */
  readonly isBusy: () => boolean
  /** Sends a message that shows other nodes that this node runs, and shows this node that the log works. */
  sendHeartbeat(): void
  onAvailabilityChange(availability: Availability): void
  onCheck(): void
}

const CHECK_INTERVAL_MS = 500
/** The interval at which an otherwise idle node sends a message. */
const HEARTBEAT_MS = 3_000

/** Detects a stalled log, even while there are no requests. */
export class LogHealthMonitor {
  readonly #host: LogHealthHost
  readonly #stallTimeoutMs: number
  #cancel: () => void = () => undefined
  #availability: Availability = 'kept'
  #sentAt: number
  #checkedAt: number

  /** @param stallTimeoutMs - age in ms of an unseen message at which the log counts as `away` */
  constructor(stallTimeoutMs: number, host: LogHealthHost) {
    this.#host = host
    this.#stallTimeoutMs = stallTimeoutMs
    this.#sentAt = host.clock.monotonic()
    this.#checkedAt = this.#sentAt
  }

  get availability(): Availability {
    return this.#availability
  }

  start(): void {
    this.#cancel = this.#host.clock.schedule(CHECK_INTERVAL_MS, () => {
      this.start()
      this.#check()
    })
  }

  recordSent(): void {
    this.#sentAt = this.#host.clock.monotonic()
  }

  recordArrival(): void {
    this.#setAvailability('kept')
  }

  stop(): void {
    this.#cancel()
  }

  #check(): void {
    this.#host.onCheck()
    const now = this.#host.clock.monotonic()
    const wasSuspended = now - this.#checkedAt > 3 * CHECK_INTERVAL_MS
    this.#checkedAt = now
    // After a suspension, the messages that arrived in the meantime must be read before the log is judged.
    if (wasSuspended) return
    const ageMs = this.#host.oldestAgeMs()
    if (ageMs >= this.#stallTimeoutMs) this.#setAvailability('away')
    else if (ageMs >= this.#stallTimeoutMs / 4 && this.#availability === 'kept') this.#setAvailability('waiting')
    if (!this.#host.isBusy() && now - this.#sentAt >= HEARTBEAT_MS) this.#host.sendHeartbeat()
  }

  #setAvailability(availability: Availability): void {
    if (availability === this.#availability) return
    this.#availability = availability
    this.#host.onAvailabilityChange(availability)
  }
}
