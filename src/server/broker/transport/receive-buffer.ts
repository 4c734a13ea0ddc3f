import { FrameCutter } from '../../../core/mqtt5/frame-cutter.js'
import { PacketError } from '../../../core/mqtt5/packet-error.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { Timeouts } from '../../../core/util/timeouts.js'
import type { MemoryBudget } from '../../../node/limits/memory-budget.js'
import { LIMIT } from '../limits/limits.js'

export interface ReceiveBufferHost extends IncompletePacketHost {
  readonly budget: MemoryBudget
  readonly maximumPacketSize: number
}

/** The received data that is not processed yet, charged to the memory budget. */
export class ReceiveBuffer implements IncompletePacketReader {
  readonly onOverdue: () => void
  readonly #budget: MemoryBudget
  readonly #maximumPacketSize: number
  #cutter: FrameCutter
  /** The chunks not passed to the cutter yet. They are few, because reading pauses while packets are processed. */
  readonly #chunks = new Fifo<Uint8Array>()
  #uncutBytes = 0
  #heldBytes = 0
  #incompleteBytes = 0
  readonly #incompletePacketGuard: IncompletePacketGuard

  constructor(host: ReceiveBufferHost, onOverdue: () => void) {
    this.onOverdue = onOverdue
    this.#budget = host.budget
    this.#maximumPacketSize = host.maximumPacketSize
    this.#cutter = new FrameCutter(host.maximumPacketSize)
    this.#incompletePacketGuard = new IncompletePacketGuard(host, this)
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The number of bytes of an incomplete packet. It is 0 for a client that sends complete packets. */
  get incompleteBytes(): number {
    return this.#incompleteBytes
  }

  push(chunk: Uint8Array): void {
    this.#adjust(chunk.length)
    // This is the common case of an empty buffer.
    if (this.#cutter.bufferedBytes + this.#uncutBytes === 0) {
      this.#incompletePacketGuard.onFirstFragment(chunk)
      this.#cutter.push(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#uncutBytes += chunk.length
  }

  /** Returns the next complete packet, if any. Throws `PacketError` for invalid framing. */
  next(): Uint8Array | undefined {
    const frame = this.#cutter.next()
    if (frame !== undefined) this.#completePacket()
    return frame
  }

  /**
   * Returns the packet id of a plain PUBACK, or 0 if the next packet is of another kind. See {@link
   * FrameCutter.nextPuback}.
   */
  nextPuback(): number {
    const packetId = this.#cutter.nextPuback()
    if (packetId !== 0) this.#completePacket()
    return packetId
  }

  /**
   * Passes the next chunk to the cutter. Returns `false` if none is left. Throws `PacketError` for too many fragments.
   */
  feed(): boolean {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return false
    this.#uncutBytes -= chunk.length
    this.#incompletePacketGuard.onFragment(chunk)
    this.#cutter.push(chunk)
    return true
  }

  /** @param isDone - whether no complete packet remains */
  settle(isDone: boolean): void {
    this.#adjust(this.#cutter.bufferedBytes + this.#uncutBytes - this.#heldBytes)
    if (isDone) this.#incompleteBytes = this.#heldBytes
  }

  /** Starts the deadline of an incomplete packet. Called after all complete packets have been processed. */
  watch(): void {
    if (this.#cutter.hasPartialPacket) this.#incompletePacketGuard.watch()
    else this.#incompletePacketGuard.startedAt = undefined
  }

  /** Extends the deadline by the length of a pause in reading. */
  extendDeadline(ms: number): void {
    this.#incompletePacketGuard.extendDeadline(ms)
  }

  clear(): void {
    this.#incompletePacketGuard.stop()
    this.#chunks.clear()
    this.#uncutBytes = 0
    this.#cutter = new FrameCutter(this.#maximumPacketSize)
    this.settle(true)
  }

  #completePacket(): void {
    this.#incompleteBytes = 0
    this.#incompletePacketGuard.complete()
  }

  #adjust(bytes: number): void {
    this.#heldBytes += bytes
    this.#budget.adjust(bytes)
  }
}

/**
 * The size of a short fragment, and the maximum number of short fragments per packet. Short chunks cost as much time as
 * long ones.
 */
const [SHORT_FRAGMENT_BYTES, MAX_SHORT_FRAGMENTS] = [32, 16_384]

interface IncompletePacketHost {
  readonly clock: Clock
  readonly timeouts: Timeouts<() => void>
}

interface IncompletePacketReader {
  readonly heldBytes: number
  onOverdue(): void
}

/** An incomplete packet, which the client must finish within a deadline and without too many short fragments. */
class IncompletePacketGuard {
  /**
   * The start of the deadline in ms of the monotonic clock, `undefined` without an incomplete packet and before {@link
   * watch}.
   */
  startedAt: number | undefined
  readonly #host: IncompletePacketHost
  readonly #reader: IncompletePacketReader
  #deadline: Deadline<() => void> | undefined
  #shortFragments = 0

  constructor(host: IncompletePacketHost, reader: IncompletePacketReader) {
    this.#host = host
    this.#reader = reader
  }

  complete(): void {
    this.startedAt = undefined
    this.#shortFragments = 0
  }

  onFirstFragment({ length }: Uint8Array): void {
    this.#shortFragments = length < SHORT_FRAGMENT_BYTES ? 1 : 0
  }

  onFragment({ length }: Uint8Array): void {
    if (length < SHORT_FRAGMENT_BYTES && ++this.#shortFragments > MAX_SHORT_FRAGMENTS)
      throw new PacketError(REASON.messageRateTooHigh, 'the packet arrived in too many small fragments')
  }

  watch(): void {
    const { clock, timeouts } = this.#host
    this.startedAt ??= clock.monotonic()
    this.#deadline ??= timeouts.add(this.startedAt + LIMIT.packetTimeoutMs, this.#onDeadline)
  }

  extendDeadline(ms: number): void {
    if (this.startedAt !== undefined) this.startedAt += ms
  }

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
