import type { OpenSocket, Socket, SocketHandlers } from '../../../src/pubsub/client/ws-socket.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'

export type JsonFrame = Readonly<Record<string, unknown>>

/** A WebSocket whose peer is the test. */
export class FakeSocket implements Socket {
  readonly url: string
  readonly subprotocol: string
  readonly sent: FrameData[] = []
  /** The codes of all calls of `close`, -1 for a call without a code. */
  readonly closings: number[] = []
  terminated = false
  bufferedAmount = 0
  readonly #handlers: SocketHandlers

  constructor(url: string, subprotocol: string, handlers: SocketHandlers) {
    this.url = url
    this.subprotocol = subprotocol
    this.#handlers = handlers
  }

  /** The parsed frames of the client. */
  get frames(): JsonFrame[] {
    return this.sent.map(data => JSON.parse(String(data)))
  }

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

  /** Completes the handshake. */
  accept(): this {
    this.#handlers.opened()
    return this
  }

  /** Sends the first frame of the hub for a new session. */
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

  /** Sends a JSON message of a group. */
  publish(sequenceId: number, group = 'line', data: unknown = sequenceId): this {
    return this.receive({ type: 'message', from: 'group', group, dataType: 'json', data, sequenceId })
  }

  /** Closes the socket, or fails to open it. */
  drop(code = 1006, reason = ''): this {
    this.#handlers.closed(code, reason)
    return this
  }
}

export class FakeNetwork {
  readonly sockets: FakeSocket[] = []

  readonly open: OpenSocket = (url, subprotocol, handlers) => {
    const socket = new FakeSocket(url, subprotocol, handlers)
    this.sockets.push(socket)
    return socket
  }

  /** The latest socket. */
  get last(): FakeSocket {
    const socket = this.sockets.at(-1)
    if (socket === undefined) throw new Error('No socket was opened')
    return socket
  }

  get count(): number {
    return this.sockets.length
  }
}
