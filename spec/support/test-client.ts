import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import mqttPacket, {
  type IConnackPacket,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type ISubscription,
  type Packet,
  type Parser,
} from 'mqtt-packet'
import { createWebSocketStream, WebSocket } from 'ws'
import { bytesOf, type Version } from './packets.js'
import { addressOf, connectTcp, RawSocket } from './raw-socket.js'

type Of<C extends Packet['cmd']> = Extract<Packet, { cmd: C }>

/** The time in milliseconds of real time that a broker may send nothing that a test waits for, despite fake timers. */
const PATIENCE_MS = 10_000
/** A packet id that no request of a spec has. */
const LAST_PACKET_ID = 0xffff
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis

const oneOf =
  <C extends Packet['cmd']>(cmd: C) =>
  (packet: Packet): packet is Of<C> =>
    packet.cmd === cmd

/** The authorities that a client trusts, its certificate, and the HTTP headers of its WebSocket. */
interface TransportOptions extends Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> {
  readonly headers?: Readonly<Record<string, string>>
}

/** Connects over TCP, TLS or a WebSocket. */
function openTransport(url: string, { ca, cert, key, headers }: TransportOptions): Duplex {
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
  const { protocol } = new URL(url)
  if (protocol === 'mqtts:') return connectTls({ ...addressOf(url), ...tls })
  if (protocol === 'mqtt:') return connectTcp(url)
  const stream = createWebSocketStream(new WebSocket(url, 'mqtt', { ...tls, ...(headers && { headers }) }))
  // The stream would wait for its writable side if the server breaks the connection.
  return stream.once('end', () => stream.destroy())
}

export interface ConnectOptions extends Partial<Omit<IConnectPacket, 'password' | 'will'>>, TransportOptions {
  readonly password?: string | Buffer
  readonly will?: Omit<NonNullable<IConnectPacket['will']>, 'payload'> & { readonly payload: string | Buffer }
}

/** The first acknowledgement of a PUBLISH. The reason code of QoS 0 is 0. */
export interface Acknowledgement {
  readonly reasonCode: number
  readonly reasonString: string | undefined
}

/**
 * An MQTT client with a codec of another library. It sends only packets of the spec, and acknowledges nothing
 * automatically. A `StoreClient` acknowledges messages.
 */
export class TestClient extends RawSocket {
  readonly version: Version
  /** The received packets that were not yet taken. */
  readonly packets: Packet[] = []
  onPacket = (packet: Packet): void => void this.packets.push(packet)
  #packetId = 0
  readonly #parser: Parser

  protected constructor(url: string, version: Version, transport: TransportOptions = {}) {
    super(openTransport(url, transport))
    this.version = version
    this.#parser = mqttPacket.parser({ protocolVersion: version })
    this.#parser.on('packet', packet => this.onPacket(packet))
    this.#parser.on('error', error => this.socket.destroy(error))
  }

  /** Opens a connection without sending anything. */
  static to(url: string, version: Version = 5): TestClient {
    return new TestClient(url, version)
  }

  /** Connects, with a clean start by default. Returns the CONNACK with any reason code. */
  static async greet(
    url: string,
    clientId: string,
    options: ConnectOptions = {},
  ): Promise<[TestClient, IConnackPacket]> {
    const client = TestClient.to(url, versionOf(options))
    return [client, await client.greet(clientId, options)]
  }

  /** Connects. Rejects if the server refuses the connection. */
  static async connect(url: string, clientId: string, options: ConnectOptions = {}): Promise<TestClient> {
    const client = TestClient.to(url, versionOf(options))
    await client.login(clientId, options)
    return client
  }

  protected async greet(clientId: string, { password, will, ...options }: ConnectOptions): Promise<IConnackPacket> {
    const defaults = { protocolId: 'MQTT', protocolVersion: this.version, clean: true, keepalive: 0 } as const
    this.send({
      ...{ cmd: 'connect', clientId, ...defaults, ...options },
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...(will === undefined ? {} : { will: { ...will, payload: Buffer.from(will.payload) } }),
    })
    return this.next('connack')
  }

  /** Rejects with the `code` of the CONNACK if the server refuses the connection. */
  protected async login(clientId: string, options: ConnectOptions): Promise<void> {
    const { reasonCode, returnCode } = await this.greet(clientId, options)
    const code = reasonCode ?? returnCode
    if (code !== 0) throw Object.assign(new Error(`CONNACK ${code}`), { code })
  }

  get nextPacketId(): number {
    return ++this.#packetId
  }

  override async send(...all: readonly (Packet | Uint8Array | string)[]): Promise<void> {
    const pieces = all.map(each =>
      typeof each === 'string' ? Buffer.from(each) : 'cmd' in each ? bytesOf(each, this.version) : each,
    )
    return super.send(Buffer.concat(pieces))
  }

  /** Resolves when the condition holds or the connection has ended. Rejects if nothing arrives in time. */
  override async until(holds: () => boolean): Promise<void> {
    let isLate = false
    const wait = (received: number) =>
      setRealTimeout(() => {
        isLate = this.received === received
        if (isLate) this.hangUp()
        else timer = wait(this.received)
      }, PATIENCE_MS)
    let timer = wait(this.received)
    await super.until(holds)
    clearRealTimeout(timer)
    if (isLate) throw new Error(`nothing arrived within ${PATIENCE_MS} ms`)
  }

  /**
   * Takes the next packet, or the next packet of a kind and packet id while skipping others. Rejects if the connection
   * ends first.
   */
  async next(): Promise<Packet>
  async next<C extends Packet['cmd']>(cmd: C, messageId?: number): Promise<Of<C>>
  async next(cmd?: Packet['cmd'], messageId?: number): Promise<Packet> {
    const find = (): Packet | undefined =>
      this.packets.find(
        packet =>
          (cmd === undefined || packet.cmd === cmd) && (messageId === undefined || packet.messageId === messageId),
      )
    await this.until(() => find() !== undefined)
    const found = find()
    if (found === undefined) {
      // Another caller may have taken the packet.
      if (!this.ended) return cmd === undefined ? this.next() : this.next(cmd, messageId)
      throw this.failure ?? new Error(`The connection ended before ${cmd ?? 'another packet'}`)
    }
    this.packets.splice(this.packets.indexOf(found), 1)
    return found
  }

  /** Takes the next packet of any kind. Returns `closed` if the connection ends first. */
  async anything(): Promise<Packet | 'closed'> {
    await this.until(() => this.packets.length > 0)
    return this.packets.shift() ?? 'closed'
  }

  /** Returns the received packets of a kind without removing them. */
  all<C extends Packet['cmd']>(cmd: C): Of<C>[] {
    return this.packets.filter(oneOf(cmd))
  }

  get publishes(): IPublishPacket[] {
    return this.all('publish')
  }

  /** Returns the received packets of a kind as soon as there are `count`. Rejects if the connection ends first. */
  async came<C extends Packet['cmd']>(cmd: C, count = 1): Promise<Of<C>[]> {
    await this.until(() => this.all(cmd).length >= count)
    const all = this.all(cmd)
    if (all.length < count) throw new Error(`The connection ended after ${all.length} of ${count} ${cmd}`)
    return all
  }

  /** Returns the reason code that the server sends before it ends the connection, or undefined if it sends none. */
  async dismissed(): Promise<number | undefined> {
    await this.closed
    return this.all('disconnect')[0]?.reasonCode
  }

  /** Resolves when the server has processed everything that was sent, and its responses have arrived. */
  override async settled(): Promise<void> {
    await this.#processed()
  }

  /**
   * Resolves when the server has received everything that was sent. The broker responds to PINGREQ immediately, even if
   * earlier packets wait for acknowledgements.
   */
  async pinged(): Promise<void> {
    this.send({ cmd: 'pingreq' })
    await this.next('pingresp')
  }

  /** Takes all received publishes. */
  async takePublishes(): Promise<IPublishPacket[]> {
    await this.settled()
    const publishes = this.publishes
    this.packets.splice(0, this.packets.length, ...this.packets.filter(({ cmd }) => cmd !== 'publish'))
    return publishes
  }

  /** Takes all received publishes and returns their payloads as text. */
  async texts(): Promise<string[]> {
    return (await this.takePublishes()).map(({ payload }) => payload.toString())
  }

  /** Subscribes and returns the codes of the SUBACK. */
  async subscribe(
    subscription: string | ISubscription | readonly ISubscription[],
    properties?: ISubscribePacket['properties'],
  ): Promise<readonly unknown[]> {
    const list = typeof subscription === 'string' ? [{ topic: subscription, qos: 2 } as const] : [subscription].flat()
    const subscriptions = list.map(each => (this.version === 5 ? { nl: false, rap: false, rh: 0, ...each } : each))
    const messageId = this.nextPacketId
    this.send({ cmd: 'subscribe', messageId, subscriptions, ...(properties ? { properties } : {}) })
    return (await this.next('suback', messageId)).granted
  }

  /** Unsubscribes and returns the codes of the UNSUBACK. */
  async unsubscribe(...filters: string[]): Promise<readonly number[]> {
    const messageId = this.nextPacketId
    this.send({ cmd: 'unsubscribe', messageId, unsubscriptions: filters })
    return (await this.next('unsuback', messageId)).granted
  }

  /** Publishes a message and completes its exchange. Returns the reason code of the first acknowledgement. */
  async publish(topic: string, payload: string | Buffer, options: Partial<IPublishPacket> = {}): Promise<number> {
    return (await this.publishAcknowledged(topic, payload, options)).reasonCode
  }

  /** Publishes a message and completes its exchange. Returns the first acknowledgement. */
  async publishAcknowledged(
    topic: string,
    payload: string | Buffer,
    options: Partial<IPublishPacket> = {},
  ): Promise<Acknowledgement> {
    const messageId = this.nextPacketId
    const packet = { cmd: 'publish', qos: 0, dup: false, retain: false, topic, payload, messageId, ...options } as const
    this.send(packet)
    if (packet.qos === 0) {
      await this.#processed()
      return { reasonCode: 0, reasonString: undefined }
    }
    const first = await this.next(packet.qos === 1 ? 'puback' : 'pubrec', packet.messageId)
    const { reasonCode = 0, properties } = first
    if (packet.qos === 2 && reasonCode < 0x80) {
      this.send({ cmd: 'pubrel', messageId: packet.messageId, reasonCode: 0 })
      await this.next('pubcomp', packet.messageId)
    }
    return { reasonCode, reasonString: properties?.reasonString }
  }

  /** Acknowledges messages with QoS 1. */
  acknowledge(...publishes: readonly IPublishPacket[]): void {
    this.send(...publishes.map(({ messageId = 0 }): Packet => ({ cmd: 'puback', messageId, reasonCode: 0 })))
  }

  /** Sends DISCONNECT. */
  async disconnect(reasonCode = 0, sessionExpiryInterval?: number): Promise<void> {
    const properties = sessionExpiryInterval === undefined ? {} : { properties: { sessionExpiryInterval } }
    this.send({ cmd: 'disconnect', reasonCode, ...properties })
    await this.end()
  }

  /** Closes the connection without DISCONNECT after everything that was sent. */
  async end(): Promise<void> {
    this.socket.end()
    await this.closed
  }

  /** Breaks the connection. */
  async cut(): Promise<void> {
    this.hangUp()
    await this.closed
  }

  protected override read(data: Buffer): void {
    this.#parser.parse(data)
  }

  /** Resolves when the server has processed everything that was sent, because it responds to UNSUBSCRIBE in order. */
  async #processed(): Promise<void> {
    this.send({ cmd: 'unsubscribe', messageId: LAST_PACKET_ID, unsubscriptions: ['never subscribed'] })
    await this.next('unsuback', LAST_PACKET_ID)
  }
}

export const versionOf = ({ protocolVersion }: ConnectOptions): Version => (protocolVersion === 4 ? 4 : 5)
