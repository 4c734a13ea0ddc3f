import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { isArrayBuffer } from '../../core/util/built-in-types.js'
import { copyIfSparse } from '../../core/util/bytes.js'
import { CountedFifo } from '../../core/util/collections.js'
import type { TurnScheduler } from '../../node/limits/turn-scheduler.js'
import type { FrameData } from '../wire/frames.js'
import type { CloseCode, HubLink } from './hub-link.js'
import type { FrameMeter, ThrottledLink } from './sender-rate-limiter.js'

/** The unsent bytes above which a socket is neither written to nor read from. */
const MAX_UNSENT_BYTES = 256 * 1024
const BYTES_PER_WORK_UNIT = 1024
/** The minimum and maximum size of a WebSocket frame header with mask (RFC 6455, section 5.2). */
const MIN_HEADER_BYTES = 6
const MAX_HEADER_BYTES = 14
/** The maximum number of received bytes attributed to an incomplete message. */
const MAX_INCOMPLETE_BYTES = 64 * 1024
/** The maximum length of a close reason in bytes (RFC 6455, section 5.5). */
const MAX_REASON_BYTES = 123

export interface SocketListener {
  /** Processes a frame. Returns the work done, or 0 if the frame must wait. */
  receive(frame: FrameData): number
  /**
   * Processes a frame out of order if the frame is an acknowledgement. Returns whether the frame is an acknowledgement.
   */
  receiveAcknowledgement(frame: FrameData): boolean
  /** Called when a WebSocket ping or pong arrives. */
  onActivity(): void
  onDrain(): void
  onViolation(): void
  onClosed(code: number): void
}

/**
 * A WebSocket as a {@link HubLink}. Data written in one turn of the event loop is sent in one system call. The hub does
 * not read from a client that does not read, and a busy client waits for its next turn, so that other clients get their
 * turns. The hub still reads from a held client up to a limit, because queued frames may be followed by
 * acknowledgements for which other clients wait.
 */
export class WebSocketLink implements HubLink, ThrottledLink {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #scheduler: TurnScheduler
  /** The frames that are not metered yet. */
  readonly #unmetered: ReceiveQueue
  /** The earlier frames that must wait, and which acknowledgements overtake. */
  readonly #waiting: ReceiveQueue
  readonly #meter: FrameMeter
  readonly #onClosing: () => void
  /** The number of received bytes that are not attributed to a message yet. */
  #unassignedBytes = 0
  #listener: SocketListener | undefined
  #work = 0
  #isInTurn = false
  #isDeferred = false
  #isPaused = false
  #isHeld = false
  #isSlowed = false
  #isBlocked = false
  /** The payload of the latest unanswered ping. */
  #unansweredPing: Uint8Array | undefined
  #closeCode: number | undefined

  /**
   * @param stream - the connection below the socket
   * @param budget - budget for queued frames that all links share
   * @param meter - meter of the client's user
   * @param onClosing - called when the hub begins to close the socket; the client may delay its answer
   */
  constructor(
    socket: WebSocket,
    stream: Duplex,
    scheduler: TurnScheduler,
    budget: ReadAheadBudget,
    meter: FrameMeter,
    onClosing: () => void = () => undefined,
  ) {
    this.#unmetered = new ReceiveQueue(budget)
    this.#waiting = new ReceiveQueue(budget)
    this.#meter = meter
    this.#onClosing = onClosing
    this.#socket = socket
    this.#stream = stream
    this.#scheduler = scheduler
    // Other errors end the connection, which the `close` listener handles.
    socket.on('error', error => {
      if ('code' in error && String(error.code).startsWith('WS_ERR_')) this.#listener?.onViolation()
    })
    // Comes last, because the meter stops reading immediately if other connections of the user have too many frames.
    meter.add(this)
  }

  get isBound(): boolean {
    return this.#listener !== undefined
  }

  canSend(bytes: number): boolean {
    if (this.#isDeferred || !this.#hasRoom) return false
    this.#isDeferred = !this.#scheduler.tryReserveWrite(bytes, this.#onWriteTurn)
    return !this.#isDeferred
  }

  readonly #onWriteTurn = (): void => {
    this.#isDeferred = false
    this.#listener?.onDrain()
  }

  listen(listener: SocketListener): void {
    this.#listener = listener
    this.#stream.prependListener('data', (chunk: Uint8Array) => {
      this.#unassignedBytes += chunk.length
    })
    this.#socket.on('message', (data, isBinary) => {
      const bytes = bytesOf(data)
      this.#chargeFragments(bytes.length)
      this.#onFrame(isBinary ? bytes : bytes.toString())
    })
    this.#socket.on('ping', data => {
      this.#unansweredPing = Buffer.from(data)
      this.#enterTurn()
      this.#onControlFrame(data.length)
    })
    this.#socket.on('pong', data => this.#onControlFrame(data.length))
    this.#socket.on('close', code => {
      this.#closeCode = code
      this.#resume()
    })
    this.#stream.on('drain', () => {
      listener.onDrain()
      this.#resume()
    })
  }

  send(frame: FrameData): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#enterTurn()
    this.#socket.send(frame)
  }

  ping(): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  close(code: CloseCode, reason: string): void {
    this.#discardQueued()
    if (this.#listener === undefined) this.#meter.remove(this)
    this.#enterTurn()
    this.#socket.close(code, truncateReason(reason))
    this.#onClosing()
    // The socket is read again to receive the client's close frame.
    this.#socket.resume()
  }

  terminate(): void {
    this.#discardQueued()
    this.#socket.terminate()
  }

  get isReadPaused(): boolean {
    return !this.#hasRoom || this.#waiting.isFull
  }

  hold(): boolean {
    this.#isHeld = true
    this.#updateReading()
    return this.#closeCode === undefined
  }

  release(): void {
    this.#isHeld = false
    this.#resume()
  }

  setSlowed(slowed: boolean): void {
    this.#isSlowed = slowed
    if (slowed) this.#updateReading()
    else this.#processQueued()
  }

  setBlocked(blocked: boolean): void {
    this.#isBlocked = blocked
    this.#updateReading()
  }

  /** Flushes writes, and processes queued frames. */
  readonly #endTurn = (): void => {
    this.#isInTurn = false
    this.#work = 0
    this.#answerPing()
    this.#stream.uncork()
    try {
      this.#processQueued()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Ends the connection whose input causes an internal error, so that all others remain. */
  #fail(error: unknown): void {
    this.terminate()
    this.#scheduler.onError(error)
  }

  /** Answers all pings of a turn with one pong (RFC 6455, section 5.5.3). */
  #answerPing(): void {
    if (this.#unansweredPing === undefined || !this.#hasRoom) return
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.pong(this.#unansweredPing)
    this.#unansweredPing = undefined
  }

  get #hasRoom(): boolean {
    return this.#stream.writableLength < MAX_UNSENT_BYTES
  }

  /**
   * Returns whether frames can be processed in order now, without waiting for other clients or for this client to read.
   */
  get #canProcess(): boolean {
    return (this.#hasRoom && !this.#isHeld) || this.#closeCode !== undefined
  }

  get #hasUsedTurn(): boolean {
    return this.#work >= this.#scheduler.workPerTurn
  }

  /**
   * Attributes received bytes to a message, and charges the message's fragments, because each fragment costs about as
   * much as a frame.
   */
  #chargeFragments(bytes: number): void {
    this.#unassignedBytes = Math.max(0, this.#unassignedBytes - bytes - MAX_HEADER_BYTES)
    const fragments = Math.floor((this.#unassignedBytes - MAX_INCOMPLETE_BYTES) / MIN_HEADER_BYTES)
    if (fragments <= 0) return
    this.#unassignedBytes = MAX_INCOMPLETE_BYTES
    this.#meter.charge(fragments, 0)
  }

  #onControlFrame(bytes: number): void {
    this.#chargeFragments(bytes)
    this.#meter.charge(1, bytes)
    this.#listener?.onActivity()
    if (!this.#isSlowed) this.#meter.tryAdmit(this)
  }

  #onFrame(frame: FrameData): void {
    try {
      if (this.#unmetered.length === 0 && this.#tryAdmit(frame)) this.#process(frame)
      else {
        this.#unmetered.push(frame)
        this.#meter.addQueued(1)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#updateReading()
  }

  /** Returns whether a frame may be processed in this turn. If not, the frame is retried later. */
  #tryAdmit(frame: FrameData): boolean {
    if (this.#isSlowed) return false
    if (!this.#hasUsedTurn && !this.#meter.tryAdmit(this)) return false
    if (!this.#hasUsedTurn && this.#scheduler.tryReserveRead(frame.length)) return true
    this.#enterTurn()
    return false
  }

  #process(frame: FrameData): void {
    this.#meter.charge(1, frame.length)
    if (this.#canProcess && this.#waiting.length === 0 && this.#receive(frame)) return
    this.#work++
    if (!this.#listener?.receiveAcknowledgement(frame)) this.#waiting.push(frame)
  }

  #receive(frame: FrameData): boolean {
    this.#enterTurn()
    const work = this.#listener?.receive(frame) ?? 1
    if (work > 0) this.#work += work + Math.floor(frame.length / BYTES_PER_WORK_UNIT)
    return work > 0
  }

  #processQueued(): void {
    while (this.#canProcess && !this.#hasUsedTurn) {
      const frame = this.#waiting.peek()
      if (frame === undefined || !this.#receive(frame)) break
      this.#waiting.shift()
    }
    for (let frame = this.#unmetered.peek(); frame !== undefined; frame = this.#unmetered.peek()) {
      if (!this.#tryAdmit(frame)) break
      this.#unmetered.shift()
      this.#meter.addQueued(-1)
      this.#process(frame)
    }
    this.#resume()
  }

  #resume(): void {
    if (this.#isInTurn) return
    const isNext = (this.#canProcess && this.#waiting.length > 0) || (!this.#isSlowed && this.#unmetered.length > 0)
    if (isNext) this.#enterTurn()
    else if (this.#closeCode !== undefined && this.#unmetered.length === 0) this.#end(this.#closeCode)
    else this.#updateReading()
  }

  /** Ends the link after all received frames are processed, because frames before the close count. */
  #end(code: number): void {
    const listener = this.#listener
    if (listener === undefined) return
    this.#listener = undefined
    this.#meter.remove(this)
    listener.onClosed(code)
  }

  /**
   * Starts or stops reading. With queued frames, the socket is read only if the client is held, because
   * acknowledgements may follow.
   */
  #updateReading(): void {
    const { length, isFull } = this.#waiting
    const isOpen = this.#unmetered.length === 0 && !this.#isSlowed && !this.#isBlocked
    const shouldRead = isOpen && (length === 0 || (this.#isHeld && this.#hasRoom && !isFull))
    if (shouldRead !== this.#isPaused) return
    this.#isPaused = !shouldRead
    if (shouldRead) this.#socket.resume()
    else this.#socket.pause()
  }

  #discardQueued(): void {
    this.#meter.addQueued(-this.#unmetered.length)
    this.#unmetered.clear()
    this.#waiting.clear()
  }

  #enterTurn(): void {
    if (this.#isInTurn) return
    this.#isInTurn = true
    this.#stream.cork()
    this.#scheduler.atTurnEnd(this.#endTurn)
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return isArrayBuffer(data) ? Buffer.from(data) : data
}

function truncateReason(reason: string): string {
  let text = reason.slice(0, MAX_REASON_BYTES)
  while (Buffer.byteLength(text) > MAX_REASON_BYTES) text = text.slice(0, -1)
  return text
}

/** The maximum bytes and frames read ahead per client, and the maximum bytes of all clients. */
const MAX_READ_AHEAD_BYTES = 4 * 1024 * 1024
const MAX_READ_AHEAD_FRAMES = 20_000
const MAX_TOTAL_READ_AHEAD_BYTES = 64 * 1024 * 1024

const OVERHEAD_BYTES = 128

export class ReadAheadBudget {
  usedBytes = 0

  get isExhausted(): boolean {
    return this.usedBytes > MAX_TOTAL_READ_AHEAD_BYTES
  }
}

export class ReceiveQueue extends CountedFifo<FrameData> {
  readonly #budget: ReadAheadBudget

  constructor(budget: ReadAheadBudget) {
    super(
      ({ length }) => length + OVERHEAD_BYTES,
      bytes => {
        budget.usedBytes += bytes
      },
    )
    this.#budget = budget
  }

  get isFull(): boolean {
    return this.size > MAX_READ_AHEAD_BYTES || this.length >= MAX_READ_AHEAD_FRAMES || this.#budget.isExhausted
  }

  // The frame is copied, because a small frame would retain the whole chunk in which it was received.
  override push(frame: FrameData): void {
    super.push(typeof frame === 'string' ? frame : copyIfSparse(frame))
  }
}
