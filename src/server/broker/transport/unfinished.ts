import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import { LIMIT } from '../limits/limits.js'

/** A shorter piece takes as much time as a longer one, bytes; and of so many of them no packet is made. */
const [CRUMB, MOST_CRUMBS] = [32, 16_384]

/** Where a packet comes in. */
export interface UnfinishedHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** What reads the packet. */
export interface UnfinishedReader {
  /** How much of it is there, bytes. */
  readonly held: number
  /** It takes longer than it may. */
  overdue(): void
}

/** A packet that is not complete: a client that begins one has to end it some time. */
export class Unfinished {
  /** When it began, ms; `undefined` when there is none, or that has to be looked up. */
  begun: number | undefined
  readonly #host: UnfinishedHost
  readonly #reader: UnfinishedReader
  #deadline: Deadline<() => void> | undefined
  /** Short pieces of it. */
  #crumbs = 0

  constructor(host: UnfinishedHost, reader: UnfinishedReader) {
    this.#host = host
    this.#reader = reader
  }

  /** A packet is complete. */
  end(): void {
    this.begun = undefined
    this.#crumbs = 0
  }

  /** A piece came, and nothing was left of what came before. */
  first({ length }: Uint8Array): void {
    this.#crumbs = length < CRUMB ? 1 : 0
  }

  /** Another piece came. Raises {@link PacketError} when there are too many, and short ones. */
  piece({ length }: Uint8Array): void {
    if (length < CRUMB && ++this.#crumbs > MOST_CRUMBS)
      throw new PacketError(REASON.messageRateTooHigh, 'a packet in so many pieces is not worth the time they take')
  }

  /** There is one. */
  watch(): void {
    const { clock, timeouts } = this.#host
    this.begun ??= clock.monotonic()
    this.#deadline ??= timeouts.add(this.begun + LIMIT.packetTimeout, this.#late)
  }

  /** For so many ms nothing of it was read. */
  postpone(ms: number): void {
    if (this.begun !== undefined) this.begun += ms
  }

  /** There will be no more. */
  stop(): void {
    if (this.#deadline) this.#host.timeouts.remove(this.#deadline)
    this.begun = undefined
  }

  readonly #late = (): void => {
    this.#deadline = undefined
    if (this.begun === undefined) return
    const { clock, timeouts } = this.#host
    const due = Math.max(this.begun + LIMIT.packetTimeout, this.begun + this.#reader.held / LIMIT.packetRate)
    if (due <= clock.monotonic()) this.#reader.overdue()
    else this.#deadline = timeouts.add(due, this.#late)
  }
}
