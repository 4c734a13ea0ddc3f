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
export interface ReceiveBufferHost extends IncompletePacketHost {
  readonly budget: BrokerMemoryBudget
  readonly maximumPacketSize: number
}

/** What came over a connection and is not done with: pieces, and packets that are not complete. The budget counts it. */
export class ReceiveBuffer implements IncompletePacketReader {
  readonly onOverdue: () => void
  readonly #budget: BrokerMemoryBudget
  readonly #maximumPacketSize: number
  #cutter: FrameCutter
  /** What came and is not cut yet: little, as nothing more is read meanwhile. */
  readonly #chunks = new Fifo<Uint8Array>()
  #uncutBytes = 0
  #heldBytes = 0
  #incompleteBytes = 0
  readonly #incompletePacketGuard: IncompletePacketGuard

  /** @param onOverdue - a packet takes longer than it may */
  constructor(host: ReceiveBufferHost, onOverdue: () => void) {
    this.onOverdue = onOverdue
    this.#budget = host.budget
    this.#maximumPacketSize = host.maximumPacketSize
    this.#cutter = new FrameCutter(host.maximumPacketSize)
    this.#incompletePacketGuard = new IncompletePacketGuard(host, this)
  }

  /** What is counted, bytes. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** What of that waits for the client and not for us, bytes: who only sends much at once keeps none. */
  get incompleteBytes(): number {
    return this.#incompleteBytes
  }

  /** A piece came. */
  push(chunk: Uint8Array): void {
    this.#adjust(chunk.length)
    // Nearly always it is all there is, and need not wait.
    if (this.#cutter.held + this.#uncutBytes === 0) {
      this.#incompletePacketGuard.onFirstFragment(chunk)
      this.#cutter.push(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#uncutBytes += chunk.length
  }

  /** The next packet that is complete. Raises `PacketError` for one that cannot become a packet. */
  next(): Uint8Array | undefined {
    const frame = this.#cutter.next()
    if (frame !== undefined) this.#completePacket()
    return frame
  }

  /** As {@link FrameCutter.nextPuback}. */
  nextPuback(): number {
    const packetId = this.#cutter.nextPuback()
    if (packetId !== 0) this.#completePacket()
    return packetId
  }

  /** Cuts the next piece, when there is no packet; returns whether there was one. Raises `PacketError` for crumbs. */
  feed(): boolean {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return false
    this.#uncutBytes -= chunk.length
    this.#incompletePacketGuard.onFragment(chunk)
    this.#cutter.push(chunk)
    return true
  }

  /** Counts what is left when packets were taken. @param isDone - all that can be for now */
  settle(isDone: boolean): void {
    this.#adjust(this.#cutter.held + this.#uncutBytes - this.#heldBytes)
    if (isDone) this.#incompleteBytes = this.#heldBytes
  }

  /** All is done that can be: what is left is to be completed in time. */
  watch(): void {
    if (this.#cutter.partial) this.#incompletePacketGuard.watch()
    else this.#incompletePacketGuard.startedAt = undefined
  }

  /** For so many ms nothing was read. */
  extendDeadline(ms: number): void {
    this.#incompletePacketGuard.extendDeadline(ms)
  }

  /** Forgets it all; nothing more is to come. */
  clear(): void {
    this.#incompletePacketGuard.stop()
    this.#chunks.clear()
    this.#uncutBytes = 0
    this.#cutter = new FrameCutter(this.#maximumPacketSize)
    this.settle(true)
  }

  /** A packet is complete. */
  #completePacket(): void {
    this.#incompleteBytes = 0
    this.#incompletePacketGuard.complete()
  }

  #adjust(bytes: number): void {
    this.#heldBytes += bytes
    this.#budget.adjust(bytes)
  }
}

/** A shorter piece takes as much time as a longer one, bytes; and of so many of them no packet is made. */
const [SHORT_FRAGMENT_BYTES, MAX_SHORT_FRAGMENTS] = [32, 16_384]

/** Where a packet comes in. */
interface IncompletePacketHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

/** What reads the packet. */
interface IncompletePacketReader {
  /** How much of it is there, bytes. */
  readonly heldBytes: number
  /** It takes longer than it may. */
  onOverdue(): void
}

/** A packet that is not complete: a client that begins one has to end it some time. */
class IncompletePacketGuard {
  /** When it began, ms; `undefined` when there is none, or that has to be looked up. */
  startedAt: number | undefined
  readonly #host: IncompletePacketHost
  readonly #reader: IncompletePacketReader
  #deadline: Deadline<() => void> | undefined
  /** Short pieces of it. */
  #shortFragments = 0

  constructor(host: IncompletePacketHost, reader: IncompletePacketReader) {
    this.#host = host
    this.#reader = reader
  }

  /** A packet is complete. */
  complete(): void {
    this.startedAt = undefined
    this.#shortFragments = 0
  }

  /** A piece came, and nothing was left of what came before. */
  onFirstFragment({ length }: Uint8Array): void {
    this.#shortFragments = length < SHORT_FRAGMENT_BYTES ? 1 : 0
  }

  /** Another piece came. Raises {@link PacketError} when there are too many, and short ones. */
  onFragment({ length }: Uint8Array): void {
    if (length < SHORT_FRAGMENT_BYTES && ++this.#shortFragments > MAX_SHORT_FRAGMENTS)
      throw new PacketError(REASON.messageRateTooHigh, 'a packet in so many pieces is not worth the time they take')
  }

  /** There is one. */
  watch(): void {
    const { clock, timeouts } = this.#host
    this.startedAt ??= clock.monotonic()
    this.#deadline ??= timeouts.add(this.startedAt + LIMIT.packetTimeoutMs, this.#onDeadline)
  }

  /** For so many ms nothing of it was read. */
  extendDeadline(ms: number): void {
    if (this.startedAt !== undefined) this.startedAt += ms
  }

  /** There will be no more. */
  stop(): void {
    if (this.#deadline) this.#host.timeouts.remove(this.#deadline)
    this.startedAt = undefined
  }

  readonly #onDeadline = (): void => {
    this.#deadline = undefined
    if (this.startedAt === undefined) return
    const { clock, timeouts } = this.#host
    const dueAt = Math.max(
      this.startedAt + LIMIT.packetTimeoutMs,
      this.startedAt + this.#reader.heldBytes / LIMIT.packetBytesPerMs,
    )
    if (dueAt <= clock.monotonic()) this.#reader.onOverdue()
    else this.#deadline = timeouts.add(dueAt, this.#onDeadline)
  }
}
