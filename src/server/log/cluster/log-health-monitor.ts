import type { Clock } from '../../../core/util/clock.js'

/** How the log is for this node: `waiting` for a quorum or a connection, `away` when that takes too long. */
export type Availability = 'kept' | 'waiting' | 'away'

/** What a pulse needs. */
export interface LogHealthHost {
  readonly clock: Clock
  /** For how long the oldest message of ours has been on its way, ms. */
  readonly late: () => number
  /** Whether anything of ours is on its way. */
  readonly busy: () => boolean
  /** Has something sent, so that others hear of this node, and this node of the log. */
  beat(): void
  changed(availability: Availability): void
  /** Called over and over. */
  looked(): void
}

/** A look at what should have happened, every so many ms. */
const LOOK = 500
/** A node that had nothing to send says that it is there, ms. */
const HEARTBEAT = 3_000

/** Finds out whether the log goes on, also when nobody asks for anything. */
export class LogHealthMonitor {
  readonly #host: LogHealthHost
  readonly #stallTimeout: number
  #cancel: () => void = () => undefined
  #availability: Availability = 'kept'
  #sentAt: number
  #lookedAt: number

  /** @param stallTimeout - what is not there after so many ms is waited for too long */
  constructor(stallTimeout: number, host: LogHealthHost) {
    this.#host = host
    this.#stallTimeout = stallTimeout
    this.#sentAt = host.clock.monotonic()
    this.#lookedAt = this.#sentAt
  }

  get availability(): Availability {
    return this.#availability
  }

  /** Looks from now on. */
  start(): void {
    this.#cancel = this.#host.clock.schedule(LOOK, () => {
      this.start()
      this.#look()
    })
  }

  /** Something was sent. */
  sent(): void {
    this.#sentAt = this.#host.clock.monotonic()
  }

  /** Something of ours is in the log. */
  arrived(): void {
    this.#tell('kept')
  }

  stop(): void {
    this.#cancel()
  }

  #look(): void {
    this.#host.looked()
    const now = this.#host.clock.monotonic()
    const wasAsleep = now - this.#lookedAt > 3 * LOOK
    this.#lookedAt = now
    // What came while the process stood still is read next.
    if (wasAsleep) return
    const late = this.#host.late()
    if (late >= this.#stallTimeout) this.#tell('away')
    else if (late >= this.#stallTimeout / 4 && this.#availability === 'kept') this.#tell('waiting')
    if (!this.#host.busy() && now - this.#sentAt >= HEARTBEAT) this.#host.beat()
  }

  #tell(availability: Availability): void {
    if (availability === this.#availability) return
    this.#availability = availability
    this.#host.changed(availability)
  }
}
