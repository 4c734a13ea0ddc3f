import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { ClientCodec, DownFrame, UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { eventually } from '../../support/eventually.js'
import { recoveryUrl } from './raw-pubsub-client.js'
import type { Protocol } from './scripted-hub.js'

const clientCodecs = { json: jsonClientCodec, protobuf: protobufClientCodec }

/**
 * A client that uses a codec but follows no rules: it sends and records raw frames. It is disconnected at the end of
 * the test.
 */
export class CodecClient {
  readonly frames: (DownFrame | UnknownFrame)[] = []
  closedWith: number | undefined
  readonly #url: string
  readonly #protocol: Protocol
  readonly #codec: ClientCodec
  readonly #socket: WebSocket

  constructor(url: string, protocol: Protocol) {
    this.#url = url
    this.#protocol = protocol
    this.#codec = clientCodecs[protocol]
    this.#socket = new WebSocket(url, this.#codec.subprotocol)
    this.#socket.on('error', () => undefined)
    this.#socket.on('message', (data: Buffer, isBinary) => {
      this.frames.push(this.#codec.decode(isBinary ? new Uint8Array(data) : String(data)))
    })
    this.#socket.on('close', code => {
      this.closedWith = code
    })
    onTestFinished(() => this.#socket.terminate())
  }

  /** Opens a new session that is already in the group `g`. */
  static async join(url: string, protocol: Protocol): Promise<CodecClient> {
    const client = new CodecClient(url, protocol)
    await eventually(() => client.frames.length === 1)
    client.send({ type: 'joinGroup', group: 'g', ackId: 0n })
    await eventually(() => client.frames.length === 2)
    return client
  }

  /** Claims this client's session, with the parts of the claim that `wrong` replaces. */
  recover(wrong: { readonly id?: string; readonly token?: string; readonly url?: string } = {}): CodecClient {
    const connected = this.frames.find(frame => frame.type === 'connected')
    const { id = connected?.connectionId ?? '', token = connected?.reconnectionToken ?? '', url = this.#url } = wrong
    return new CodecClient(recoveryUrl(url, id, token), this.#protocol)
  }

  get sequenceIds(): readonly (bigint | undefined)[] {
    return this.frames.filter(frame => frame.type === 'groupMessage').map(({ sequenceId }) => sequenceId)
  }

  get acks(): readonly Extract<DownFrame, { type: 'ack' }>[] {
    return this.frames.filter(frame => frame.type === 'ack')
  }

  send(frame: UpFrame): void {
    this.#socket.send(this.#codec.encode(frame))
  }

  /** Resolves when the hub has read everything that was sent, and everything it had sent before has arrived. */
  async settled(): Promise<void> {
    const pongs = (): number => this.frames.filter(({ type }) => type === 'pong').length
    const before = pongs()
    this.send({ type: 'ping' })
    await eventually(() => pongs() > before)
  }

  async received(count: number): Promise<readonly (bigint | undefined)[]> {
    await eventually(() => this.sequenceIds.length >= count)
    return this.sequenceIds
  }

  async closed(): Promise<number | undefined> {
    await eventually(() => this.closedWith !== undefined)
    return this.closedWith
  }

  cut(): void {
    this.#socket.terminate()
  }
}
