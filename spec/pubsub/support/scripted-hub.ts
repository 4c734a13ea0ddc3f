import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { freePort } from '../../../harness/free-port.js'
import type {
  DownFrame,
  FrameData,
  HubCodec,
  NewerCall,
  UnknownFrame,
  UpFrame,
} from '../../../src/pubsub/wire/frames.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { eventually } from '../../support/eventually.js'

export type Protocol = 'json' | 'protobuf'

export const PROTOCOLS: readonly Protocol[] = ['json', 'protobuf']

const hubCodecs = { json: jsonHubCodec, protobuf: protobufHubCodec }

/** A connection of a scripted hub. */
export class Peer {
  readonly url: URL
  readonly socket: WebSocket
  /** The client's frames, raw and decoded. */
  readonly data: FrameData[] = []
  readonly frames: (UpFrame | NewerCall | UnknownFrame)[] = []
  /** The code of the client's close frame. */
  closeCode: number | undefined
  /** Whether every request and ping is answered. */
  answersRequests = false
  readonly #codec: HubCodec

  constructor(socket: WebSocket, url: string, codec: HubCodec) {
    this.socket = socket
    this.url = new URL(url, 'ws://hub')
    this.#codec = codec
    socket.on('message', (data: Buffer, isBinary) => this.#take(isBinary ? new Uint8Array(data) : String(data)))
    socket.on('close', code => {
      this.closeCode = code
    })
  }

  of<T extends UpFrame['type']>(type: T): readonly Extract<UpFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<UpFrame, { type: T }> => frame.type === type)
  }

  /** Resolves when this many frames of a type have arrived. */
  async waitForFrames<T extends UpFrame['type']>(
    type: T,
    count = 1,
  ): Promise<readonly Extract<UpFrame, { type: T }>[]> {
    await eventually(() => this.of(type).length >= count)
    return this.of(type)
  }

  send(...frames: readonly DownFrame[]): this {
    for (const frame of frames) this.sendData(this.#codec.encode(frame))
    return this
  }

  sendData(data: FrameData): this {
    this.socket.send(data)
    return this
  }

  /** Sends the first frame of a new session. */
  greet(connectionId = 'c1', reconnectionToken = 't1'): this {
    return this.send({ type: 'connected', connectionId, reconnectionToken, userId: 'ann' })
  }

  ack(ackId: bigint | undefined, errorName?: string): this {
    const error = errorName === undefined ? undefined : { name: errorName, message: `${errorName}!` }
    return this.send({ type: 'ack', ackId: ackId ?? 0n, success: error === undefined, error })
  }

  /** Sends messages to the group `g`, each with its sequence id as data. */
  publish(...sequenceIds: readonly bigint[]): this {
    for (const sequenceId of sequenceIds) {
      this.send({ type: 'groupMessage', group: 'g', payload: { dataType: 'text', data: `${sequenceId}` }, sequenceId })
    }
    return this
  }

  answerRequests(): this {
    this.answersRequests = true
    return this
  }

  /** Closes the connection without a close frame. */
  drop(): void {
    this.socket.terminate()
  }

  #take(data: FrameData): void {
    const frame = this.#codec.decode(data)
    this.data.push(data)
    this.frames.push(frame)
    if (!this.answersRequests) return
    if (frame.type === 'ping') this.send({ type: 'pong' })
    else if ('ackId' in frame) this.ack(frame.ackId)
  }
}

/** A hub that does only what the test scripts. It is closed at the end of the test. */
export class ScriptedHub {
  readonly peers: Peer[] = []
  /** The treatment of connections: accept them, respond with an HTTP status, or leave them hanging. */
  admission: 'open' | 'hanging' | number = 'open'
  refused = 0
  readonly #http: Server
  readonly #sockets: WebSocketServer
  readonly #streams = new Set<Duplex>()
  readonly #port: number

  private constructor(protocol: Protocol, port: number) {
    this.#port = port
    const codec = hubCodecs[protocol]
    this.#http = createServer()
    const handleProtocols = (offered: Set<string>): string | false =>
      offered.has(codec.subprotocol) && codec.subprotocol
    this.#sockets = new WebSocketServer({ noServer: true, handleProtocols })
    this.#http.on('upgrade', (request, stream: Duplex, head) => {
      this.#streams.add(stream)
      stream.on('error', () => undefined)
      if (this.admission === 'open') {
        this.#sockets.handleUpgrade(request, stream, head, socket => {
          this.peers.push(new Peer(socket, request.url ?? '', codec))
        })
        return
      }
      this.refused++
      if (this.admission !== 'hanging')
        stream.end(`HTTP/1.1 ${this.admission} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    })
  }

  static async open(protocol: Protocol): Promise<ScriptedHub> {
    const hub = new ScriptedHub(protocol, await freePort())
    await hub.listen()
    onTestFinished(() => hub.close())
    return hub
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/client/hubs/h`
  }

  /** Listens, on the same port each time. */
  async listen(): Promise<void> {
    this.#http.listen(this.#port, '127.0.0.1')
    await once(this.#http, 'listening')
  }

  /** Closes all connections and frees the port. */
  async close(): Promise<void> {
    if (!this.#http.listening) return
    const closed = once(this.#http, 'close')
    this.#http.close()
    for (const stream of this.#streams) stream.destroy()
    await closed
  }

  /** Resolves with the n-th connection, past or future. */
  async peer(n: number): Promise<Peer> {
    await eventually(() => this.peers.length >= n)
    const peer = this.peers[n - 1]
    if (peer === undefined) throw new Error(`There is no connection ${n}`)
    return peer
  }
}
