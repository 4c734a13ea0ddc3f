import { FrameCutter } from '../../../core/mqtt5/frame-cutter.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'

/** What all that comes over connections shares. */
export interface InflowHost extends UnfinishedHost {
  readonly budget: BrokerMemoryBudget
  readonly maximumPacketSize: number
}

/** What came over a connection and is not done with: pieces, and packets that are not complete. The budget counts it. */
export class ReceiveBuffer implements UnfinishedReader {
  readonly overdue: () => void
  readonly #brokerMemoryBudget: BrokerMemoryBudget
  readonly #maximumPacketSize: number
  #cutter: FrameCutter
  /** What came and is not cut yet: little, as nothing more is read meanwhile. */
  readonly #chunks = new Fifo<Uint8Array>()
  #unread = 0
  #held = 0
  #kept = 0
  readonly #incompletePacketGuard: IncompletePacketGuard

  /** @param overdue - a packet takes longer than it may */
  constructor(host: InflowHost, overdue: () => void) {
    this.overdue = overdue
    this.#brokerMemoryBudget = host.budget
    this.#maximumPacketSize = host.maximumPacketSize
    this.#cutter = new FrameCutter(host.maximumPacketSize)
    this.#incompletePacketGuard = new IncompletePacketGuard(host, this)
  }

  /** What is counted, bytes. */
  get held(): number {
    return this.#held
  }

  /** What of that waits for the client and not for us, bytes: who only sends much at once keeps none. */
  get kept(): number {
    return this.#kept
  }

  /** A piece came. */
  push(chunk: Uint8Array): void {
    this.#count(chunk.length)
    // Nearly always it is all there is, and need not wait.
    if (this.#cutter.held + this.#unread === 0) {
      this.#incompletePacketGuard.first(chunk)
      this.#cutter.push(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#unread += chunk.length
  }

  /** The next packet that is complete. Raises `PacketError` for one that cannot become a packet. */
  next(): Uint8Array | undefined {
    const frame = this.#cutter.next()
    if (frame !== undefined) this.#end()
    return frame
  }

  /** As {@link FrameCutter.nextPuback}. */
  nextPuback(): number {
    const packetId = this.#cutter.nextPuback()
    if (packetId !== 0) this.#end()
    return packetId
  }

  /** Cuts the next piece, when there is no packet; returns whether there was one. Raises `PacketError` for crumbs. */
  feed(): boolean {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return false
    this.#unread -= chunk.length
    this.#incompletePacketGuard.piece(chunk)
    this.#cutter.push(chunk)
    return true
  }

  /** Counts what is left when packets were taken. @param done - all that can be for now */
  settle(done: boolean): void {
    this.#count(this.#cutter.held + this.#unread - this.#held)
    if (done) this.#kept = this.#held
  }

  /** All is done that can be: what is left is to be completed in time. */
  watch(): void {
    if (this.#cutter.partial) this.#incompletePacketGuard.watch()
    else this.#incompletePacketGuard.begun = undefined
  }

  /** For so many ms nothing was read. */
  postpone(ms: number): void {
    this.#incompletePacketGuard.postpone(ms)
  }

  /** Forgets it all; nothing more is to come. */
  clear(): void {
    this.#incompletePacketGuard.stop()
    this.#chunks.clear()
    this.#unread = 0
    this.#cutter = new FrameCutter(this.#maximumPacketSize)
    this.settle(true)
  }

  /** A packet is complete. */
  #end(): void {
    this.#kept = 0
    this.#incompletePacketGuard.end()
  }

  #count(bytes: number): void {
    this.#held += bytes
    this.#brokerMemoryBudget.count(bytes)
  }
}

/** A shorter piece takes as much time as a longer one, bytes; and of so many of them no packet is made. */
const [CRUMB, MOST_CRUMBS] = [32, 16_384]

/** Where a packet comes in. */
interface UnfinishedHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** What reads the packet. */
interface UnfinishedReader {
  /** How much of it is there, bytes. */
  readonly held: number
  /** It takes longer than it may. */
  overdue(): void
}

/** A packet that is not complete: a client that begins one has to end it some time. */
class IncompletePacketGuard {
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
