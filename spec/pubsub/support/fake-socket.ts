import type { OpenSocket, Socket, SocketHandlers } from '../../../src/pubsub/client/ws-socket.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'

/** A JSON frame as a test reads it. */
export type JsonFrame = Readonly<Record<string, unknown>>

/** A WebSocket whose other end is the test. */
export class FakeSocket implements Socket {
  readonly url: string
  readonly subprotocol: string
  /** Every frame the client has sent, in order. */
  readonly sent: FrameData[] = []
  /** Codes of every `close`; -1 for none. */
  readonly closings: number[] = []
  terminated = false
  bufferedAmount = 0
  readonly #handlers: SocketHandlers

  constructor(url: string, subprotocol: string, handlers: SocketHandlers) {
    this.url = url
    this.subprotocol = subprotocol
    this.#handlers = handlers
  }

  /** What the client has sent, parsed. */
  get frames(): JsonFrame[] {
    return this.sent.map(data => JSON.parse(String(data)))
  }

  /** Frames of one type. */
  of(type: string): JsonFrame[] {
    return this.frames.filter(frame => frame['type'] === type)
  }

  send(data: FrameData): void {
    this.sent.push(data)
  }

  close(code?: number): void {
    this.closings.push(code ?? -1)
  }

  terminate(): void {
    this.terminated = true
  }

  /** The handshake is done. */
  accept(): this {
    this.#handlers.opened()
    return this
  }

  /** The hub's first frame of a new session. */
  greet(connectionId = 'c1', reconnectionToken = 't1', userId: string | null = 'ann'): this {
    return this.receive({ type: 'system', event: 'connected', userId, connectionId, reconnectionToken })
  }

  receive(frame: JsonFrame | string): this {
    return this.receiveData(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  receiveData(data: FrameData): this {
    this.#handlers.message(data)
    return this
  }

  pong(): this {
    return this.receive({ type: 'pong' })
  }

  ack(ackId: unknown, error?: string): this {
    if (error === undefined) return this.receive({ type: 'ack', ackId, success: true })
    return this.receive({ type: 'ack', ackId, success: false, error: { name: error, message: `${error}!` } })
  }

  /** A JSON message of a group. */
  publish(sequenceId: number, group = 'line', data: unknown = sequenceId): this {
    return this.receive({ type: 'message', from: 'group', group, dataType: 'json', data, sequenceId })
  }

  /** The socket is closed, or was not opened. */
  drop(code = 1006, reason = ''): this {
    this.#handlers.closed(code, reason)
    return this
  }
}

/** Opens fake sockets. */
export class FakeNetwork {
  readonly sockets: FakeSocket[] = []

  readonly open: OpenSocket = (url, subprotocol, handlers) => {
    const socket = new FakeSocket(url, subprotocol, handlers)
    this.sockets.push(socket)
    return socket
  }

  /** The socket opened last. */
  get last(): FakeSocket {
    const socket = this.sockets.at(-1)
    if (socket === undefined) throw new Error('No socket was opened')
    return socket
  }

  /** How many sockets were opened. */
  get count(): number {
    return this.sockets.length
  }
}
