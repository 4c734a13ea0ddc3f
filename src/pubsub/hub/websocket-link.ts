import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { copyIfSparse } from '../../core/util/bytes.js'
import { CountedFifo } from '../../core/util/collections.js'
import type { FrameData } from '../wire/frames.js'
import type { CloseCode, HubLink } from './hub-link.js'
import type { FrameMeter, SlowLink } from './sender-rate-limiter.js'
import type { ScheduledWriter, WriteScheduler } from './write-scheduler.js'

/** Unsent bytes above which a socket is neither written to nor read from. */
const MOST_UNSENT = 256 * 1024
/** Bytes of a frame that count as one unit of work. */
const BYTES_OF_WORK = 1024
/** Minimum and maximum size of a WebSocket frame header with mask (RFC 6455, section 5.2). */
const SHORTEST_HEADER = 6
const LONGEST_HEADER = 14
/** Maximum received bytes attributed to an incomplete message. */
const INCOMPLETE_BYTES = 64 * 1024
/** Maximum length of a close reason, bytes (RFC 6455, section 5.5). */
const LONGEST_REASON = 123

/** Callbacks of a socket. */
export interface SocketListener {
  /** Processes a frame and returns the work done; 0 if it must wait. */
  receive(frame: FrameData): number
  /** Processes a frame out of order if it is an acknowledgement. Returns whether it was one. */
  receiveAhead(frame: FrameData): boolean
  /** A WebSocket ping or pong arrived. */
  alive(): void
  drained(): void
  /** The client violated the WebSocket protocol. */
  violated(): void
  gone(code: number): void
}

/**
 * A WebSocket as a {@link HubLink}. Data written in one turn of the event loop leaves in one system call. A client that
 * does not read is not read from, and a busy one waits for its next turn, so that others get theirs. A held client is
 * still read up to a limit: queued frames may be followed by acknowledgements that other clients wait for.
 */
export class WebSocketLink implements HubLink, SlowLink, ScheduledWriter {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #writes: WriteScheduler
  /** Frames not metered yet. */
  readonly #arrived: ReceiveQueue
  /** Earlier frames that must wait; acknowledgements overtake these. */
  readonly #waiting: ReceiveQueue
  readonly #meter: FrameMeter
  readonly #closing: () => void
  /** Received bytes not yet attributed to a message. */
  #unassigned = 0
  #listener: SocketListener | undefined
  #work = 0
  #busy = false
  /** Whether a message waits for a later turn. */
  #putOff = false
  #paused = false
  #held = false
  #slowed = false
  #blocked = false
  /** Payload of the latest unanswered ping. */
  #pong: Uint8Array | undefined
  #closedWith: number | undefined

  /**
   * @param stream - the connection below the socket
   * @param budget - shared by all links for queued frames
   * @param meter - of the client's user
   * @param onClosing - called when the hub begins to close the socket; the client may delay its answer
   */
  constructor(
    socket: WebSocket,
    stream: Duplex,
    writes: WriteScheduler,
    room: ReadAheadRoom,
    meter: FrameMeter,
    closing: () => void = () => undefined,
  ) {
    this.#arrived = new ReceiveQueue(room)
    this.#waiting = new ReceiveQueue(room)
    this.#meter = meter
    this.#closing = closing
    meter.add(this)
    this.#socket = socket
    this.#stream = stream
    this.#writes = writes
    // Other errors end the connection, which is handled there.
    socket.on('error', error => {
      if ('code' in error && String(error.code).startsWith('WS_ERR_')) this.#listener?.violated()
    })
  }

  /** Whether it is attached to a session. */
  get isBound(): boolean {
    return this.#listener !== undefined
  }

  takes(bytes: number): boolean {
    if (this.#putOff || !this.#hasRoom) return false
    this.#putOff = !this.#writes.admits(this, bytes)
    return !this.#putOff
  }

  resume(): void {
    this.#putOff = false
    this.#listener?.drained()
  }

  listen(listener: SocketListener): void {
    this.#listener = listener
    this.#stream.prependListener('data', (chunk: Uint8Array) => {
      this.#unassigned += chunk.length
    })
    this.#socket.on('message', (data, isBinary) => {
      const bytes = bytesOf(data)
      this.#assign(bytes.length)
      this.#arrive(isBinary ? bytes : bytes.toString())
    })
    this.#socket.on('ping', data => {
      this.#pong = Buffer.from(data)
      this.#enterTurn()
      this.#sign(data.length)
    })
    this.#socket.on('pong', data => this.#sign(data.length))
    this.#socket.on('close', code => {
      this.#closedWith = code
      this.#resume()
    })
    this.#stream.on('drain', () => {
      listener.drained()
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
    this.#forget()
    if (this.#listener === undefined) this.#meter.remove(this)
    this.#enterTurn()
    this.#socket.close(code, fitting(reason))
    this.#closing()
    // The client's close frame must be read.
    this.#socket.resume()
  }

  terminate(): void {
    this.#forget()
    this.#socket.terminate()
  }

  get isDeaf(): boolean {
    return !this.#hasRoom || this.#waiting.full
  }

  hold(): boolean {
    this.#held = true
    this.#readOrNot()
    return this.#closedWith === undefined
  }

  release(): void {
    this.#held = false
    this.#resume()
  }

  slow(slowed: boolean): void {
    this.#slowed = slowed
    if (slowed) this.#readOrNot()
    else this.#goOn()
  }

  block(blocked: boolean): void {
    this.#blocked = blocked
    this.#readOrNot()
  }

  /** Flushes writes and processes queued frames. */
  endTurn(): void {
    this.#busy = false
    this.#work = 0
    this.#answerPing()
    this.#stream.uncork()
    this.#goOn()
  }

  /** Answers all pings of a turn with one pong (RFC 6455, section 5.5.3). */
  #answerPing(): void {
    if (this.#pong === undefined || !this.#hasRoom) return
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.pong(this.#pong)
    this.#pong = undefined
  }

  get #hasRoom(): boolean {
    return this.#stream.writableLength < MOST_UNSENT
  }

  /** Whether frames can be processed in order now, without waiting for other clients or for this one to read. */
  get #flows(): boolean {
    return (this.#hasRoom && !this.#held) || this.#closedWith !== undefined
  }

  get #isTurnOver(): boolean {
    return this.#work >= this.#writes.workPerTurn
  }

  /** Attributes received bytes to a message, and charges its fragments: each costs about as much as a frame. */
  #assign(bytes: number): void {
    this.#unassigned = Math.max(0, this.#unassigned - bytes - LONGEST_HEADER)
    const fragments = Math.floor((this.#unassigned - INCOMPLETE_BYTES) / SHORTEST_HEADER)
    if (fragments <= 0) return
    this.#unassigned = INCOMPLETE_BYTES
    this.#meter.charge(fragments, 0)
  }

  /** Handles a WebSocket ping or pong. */
  #sign(bytes: number): void {
    this.#assign(bytes)
    this.#meter.charge(1, bytes)
    this.#listener?.alive()
    if (!this.#slowed) this.#meter.admits(this)
  }

  #arrive(frame: FrameData): void {
    if (this.#arrived.length === 0 && this.#mayProcess(frame)) this.#process(frame)
    else {
      this.#arrived.push(frame)
      this.#meter.keep(1)
    }
    this.#readOrNot()
  }

  /** Returns whether a frame may be processed in this turn; otherwise it is retried later. */
  #mayProcess(frame: FrameData): boolean {
    if (this.#slowed) return false
    if (!this.#isTurnOver && !this.#meter.admits(this)) return false
    if (!this.#isTurnOver && this.#writes.takes(frame.length)) return true
    this.#enterTurn()
    return false
  }

  #process(frame: FrameData): void {
    this.#meter.charge(1, frame.length)
    if (this.#flows && this.#waiting.length === 0 && this.#receive(frame)) return
    this.#work++
    if (!this.#listener?.receiveAhead(frame)) this.#waiting.push(frame)
  }

  /** Returns whether the frame was accepted. */
  #receive(frame: FrameData): boolean {
    this.#enterTurn()
    const work = this.#listener?.receive(frame) ?? 1
    if (work > 0) this.#work += work + Math.floor(frame.length / BYTES_OF_WORK)
    return work > 0
  }

  #goOn(): void {
    while (this.#flows && !this.#isTurnOver) {
      const frame = this.#waiting.peek()
      if (frame === undefined || !this.#receive(frame)) break
      this.#waiting.shift()
    }
    for (let frame = this.#arrived.peek(); frame !== undefined; frame = this.#arrived.peek()) {
      if (!this.#mayProcess(frame)) break
      this.#arrived.shift()
      this.#meter.keep(-1)
      this.#process(frame)
    }
    this.#resume()
  }

  #resume(): void {
    if (this.#busy) return
    const isNext = (this.#flows && this.#waiting.length > 0) || (!this.#slowed && this.#arrived.length > 0)
    if (isNext) this.#enterTurn()
    else if (this.#closedWith !== undefined && this.#arrived.length === 0) this.#end(this.#closedWith)
    else this.#readOrNot()
  }

  /** Called after all received frames are processed: frames before the close count. */
  #end(code: number): void {
    const listener = this.#listener
    if (listener === undefined) return
    this.#listener = undefined
    this.#meter.remove(this)
    listener.gone(code)
  }

  /** With queued frames, the socket is read only if the client is held: acknowledgements may follow. */
  #readOrNot(): void {
    const { length, full } = this.#waiting
    const isOpen = this.#arrived.length === 0 && !this.#slowed && !this.#blocked
    const reads = isOpen && (length === 0 || (this.#held && this.#hasRoom && !full))
    if (reads !== this.#paused) return
    this.#paused = !reads
    if (reads) this.#socket.resume()
    else this.#socket.pause()
  }

  #forget(): void {
    this.#meter.keep(-this.#arrived.length)
    this.#arrived.clear()
    this.#waiting.clear()
  }

  #enterTurn(): void {
    if (this.#busy) return
    this.#busy = true
    this.#stream.cork()
    this.#writes.add(this)
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? Buffer.from(data) : data
}

function fitting(reason: string): string {
  let text = reason.slice(0, LONGEST_REASON)
  while (Buffer.byteLength(text) > LONGEST_REASON) text = text.slice(0, -1)
  return text
}

/** Maximum bytes and frames read ahead per client, and bytes of all clients. */
const MOST_READ_AHEAD_BYTES = 4 * 1024 * 1024
const MOST_READ_AHEAD_FRAMES = 20_000
const MOST_READ_AHEAD_TOGETHER = 64 * 1024 * 1024

/** Approximate memory of a frame besides its bytes. */
const OVERHEAD = 128

/** Bytes read ahead from all clients of a server. */
export class ReadAheadRoom {
  used = 0

  get full(): boolean {
    return this.used > MOST_READ_AHEAD_TOGETHER
  }
}

/** Queued frames of a client. */
export class ReceiveQueue extends CountedFifo<FrameData> {
  readonly #room: ReadAheadRoom

  constructor(room: ReadAheadRoom) {
    super(
      ({ length }) => length + OVERHEAD,
      bytes => {
        room.used += bytes
      },
    )
    this.#room = room
  }

  /** Whether reading should stop. */
  get full(): boolean {
    return this.size > MOST_READ_AHEAD_BYTES || this.length >= MOST_READ_AHEAD_FRAMES || this.#room.full
  }

  // A small frame would retain the whole chunk it was received in.
  override push(frame: FrameData): void {
    super.push(typeof frame === 'string' ? frame : copyIfSparse(frame))
  }
}
