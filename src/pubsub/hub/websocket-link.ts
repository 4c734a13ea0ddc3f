import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { FrameData } from '../wire/frames.js'
import type { CloseCode, HubLink } from './hub-link.js'
import type { Source } from './pacing.js'
import { ReadAhead, type ReadAheadRoom } from './read-ahead.js'
import type { SlowLink } from './senders.js'
import type { ScheduledWriter, WriteScheduler } from './write-scheduler.js'

/** Unsent bytes above which nothing more is written to a socket, nor read from it. */
const MOST_UNSENT = 256 * 1024
/** Most work done for one client in a turn of the event loop: frames taken and messages queued. */
const WORK_PER_TURN = 1_000
/** Longest reason of a close frame, bytes (RFC 6455, section 5.5). */
const LONGEST_REASON = 123

/** What the hub is told of a socket. */
export interface SocketListener {
  /** Takes a frame and returns how much work that was, 0 when it has to wait. */
  receive(frame: FrameData): number
  /** Takes a frame out of turn, if it may be; returns whether it did. */
  receiveAhead(frame: FrameData): boolean
  /** A sign of life that is not a frame. */
  alive(): void
  /** It takes more again. */
  drained(): void
  /** The client broke the rules of WebSocket. */
  violated(): void
  /** It is closed. */
  gone(code: number): void
}

/**
 * A WebSocket as a {@link HubLink}. What is written in one turn of the event loop leaves in one system call. A client that
 * does not read is not read from, and one that sends a lot waits for its next turn, so that others have theirs. A client
 * that is held is still read for a while: behind the frames that wait there may be acknowledgements that others need.
 */
export class WebSocketLink implements HubLink, Source, SlowLink, ScheduledWriter {
  readonly #socket: WebSocket
  readonly #stream: Duplex
  readonly #writes: WriteScheduler
  /** Frames for a later turn. */
  readonly #waiting: ReadAhead
  #listener: SocketListener | undefined
  #work = 0
  #busy = false
  /** A message waits for a later turn. */
  #putOff = false
  #paused = false
  #held = false
  #slowed = false
  #closedWith: number | undefined

  /** @param stream - the connection below the socket */
  constructor(socket: WebSocket, stream: Duplex, writes: WriteScheduler, room: ReadAheadRoom) {
    this.#waiting = new ReadAhead(room)
    this.#socket = socket
    this.#stream = stream
    this.#writes = writes
    // Any other error shows up as the end of the connection.
    socket.on('error', error => {
      if ('code' in error && String(error.code).startsWith('WS_ERR_')) this.#listener?.violated()
    })
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

  /** Begins to listen to the socket. */
  listen(listener: SocketListener): void {
    this.#listener = listener
    this.#socket.on('message', (data, isBinary) => this.#take(frameOf(data, isBinary)))
    this.#socket.on('ping', () => listener.alive())
    this.#socket.on('pong', () => listener.alive())
    this.#socket.on('close', code => {
      this.#closedWith = code
      this.#resume()
    })
    this.#stream.on('drain', () => {
      listener.drained()
      this.#resume()
      this.#readAhead()
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
    this.#waiting.clear()
    this.#enterTurn()
    this.#socket.close(code, fitting(reason))
    // Its answer has to be read.
    this.#socket.resume()
  }

  terminate(): void {
    this.#waiting.clear()
    this.#socket.terminate()
  }

  get deaf(): boolean {
    return this.#paused
  }

  hold(): boolean {
    this.#held = true
    this.#readAhead()
    return this.#closedWith === undefined
  }

  release(): void {
    this.#held = false
    this.#resume()
  }

  slow(slowed: boolean): void {
    this.#slowed = slowed
    if (slowed) this.#readAhead()
    else this.#resume()
  }

  /** Lets what was written leave, and goes on with what waits. */
  endTurn(): void {
    this.#busy = false
    this.#work = 0
    this.#stream.uncork()
    while (this.#ready) {
      const frame = this.#waiting.peek()
      if (frame === undefined || !this.#receive(frame)) break
      this.#waiting.shift()
    }
    this.#resume()
  }

  get #hasRoom(): boolean {
    return this.#stream.writableLength < MOST_UNSENT
  }

  get #waits(): boolean {
    return this.#held || this.#slowed
  }

  get #ready(): boolean {
    return this.#work < WORK_PER_TURN && ((this.#hasRoom && !this.#waits) || this.#closedWith !== undefined)
  }

  #take(frame: FrameData): void {
    if (this.#ready && this.#waiting.length === 0 && this.#receive(frame)) return
    if (this.#listener?.receiveAhead(frame)) return
    this.#waiting.push(frame)
    if (this.#waits && this.#hasRoom && !this.#waiting.full) return
    this.#paused = true
    this.#socket.pause()
  }

  /** Reads on while frames have to wait. */
  #readAhead(): void {
    if (!this.#waits || !this.#paused || !this.#hasRoom || this.#waiting.full) return
    this.#paused = false
    this.#socket.resume()
  }

  /** Returns whether the frame was taken. */
  #receive(frame: FrameData): boolean {
    this.#enterTurn()
    const work = this.#listener?.receive(frame) ?? 1
    this.#work += work
    return work > 0
  }

  #resume(): void {
    if (this.#busy || !this.#ready) return
    if (this.#waiting.length > 0) {
      this.#enterTurn()
    } else if (this.#closedWith !== undefined) {
      // What came before the end counts, so it is over only now.
      this.#listener?.gone(this.#closedWith)
      this.#listener = undefined
    } else if (this.#paused) {
      this.#paused = false
      this.#socket.resume()
    }
  }

  #enterTurn(): void {
    if (this.#busy) return
    this.#busy = true
    this.#stream.cork()
    this.#writes.add(this)
  }
}

function frameOf(data: RawData, isBinary: boolean): FrameData {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : data
  if (isBinary) return bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
  return bytes.toString()
}

function fitting(reason: string): string {
  let text = reason.slice(0, LONGEST_REASON)
  while (Buffer.byteLength(text) > LONGEST_REASON) text = text.slice(0, -1)
  return text
}
