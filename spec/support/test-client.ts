import mqttPacket, {
  type IConnackPacket,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type ISubscription,
  type Packet,
  type Parser,
} from 'mqtt-packet'
import { bytesOf, type Version } from './packets.js'
import { RawSocket } from './raw-socket.js'

type Of<C extends Packet['cmd']> = Extract<Packet, { cmd: C }>

/** The time in milliseconds of real time that a broker may take for any operation, regardless of fake timers. */
const PATIENCE_MS = 10_000
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis

const oneOf =
  <C extends Packet['cmd']>(cmd: C) =>
  (packet: Packet): packet is Of<C> =>
    packet.cmd === cmd

/**
 * An MQTT client with a codec of another library. It sends only packets of the spec, and acknowledges nothing
 * automatically.
 */
export class TestClient extends RawSocket {
  readonly version: Version
  /** The received packets that were not yet taken. */
  readonly packets: Packet[] = []
  onPacket = (packet: Packet): void => void this.packets.push(packet)
  #packetId = 0
  readonly #parser: Parser

  private constructor(url: string, version: Version) {
    super(url)
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
    options: Partial<IConnectPacket> = {},
  ): Promise<[TestClient, IConnackPacket]> {
    const client = TestClient.to(url, options.protocolVersion === 4 ? 4 : 5)
    const defaults = { protocolId: 'MQTT', protocolVersion: client.version, clean: true, keepalive: 0 } as const
    client.send({ cmd: 'connect', clientId, ...defaults, ...options })
    return [client, await client.next('connack')]
  }

  /** Connects. Rejects if the server refuses the connection. */
  static async connect(url: string, clientId: string, options: Partial<IConnectPacket> = {}): Promise<TestClient> {
    const [client, { reasonCode, returnCode }] = await TestClient.greet(url, clientId, options)
    if ((reasonCode ?? returnCode) !== 0) throw new Error(`CONNACK ${reasonCode ?? returnCode}`)
    return client
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

  /** Resolves when the condition holds or the connection has ended. Rejects if neither happens in time. */
  override async until(holds: () => boolean): Promise<void> {
    let isLate = false
    const timer = setRealTimeout(() => {
      isLate = true
      this.hangUp()
    }, PATIENCE_MS)
    await super.until(holds)
    clearRealTimeout(timer)
    if (isLate) throw new Error(`no answer within ${PATIENCE_MS} ms`)
  }

  /**
   * Takes the next packet, or the next packet of a kind while skipping others. Rejects if the connection ends first.
   */
  async next(): Promise<Packet>
  async next<C extends Packet['cmd']>(cmd: C): Promise<Of<C>>
  async next(cmd?: Packet['cmd']): Promise<Packet> {
    const find = (): Packet | undefined => this.packets.find(packet => cmd === undefined || packet.cmd === cmd)
    await this.until(() => find() !== undefined)
    const found = find()
    if (found === undefined) throw new Error(`The connection ended before ${cmd ?? 'another packet'}`)
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
    this.send({ cmd: 'subscribe', messageId: this.nextPacketId, subscriptions, ...(properties ? { properties } : {}) })
    return (await this.next('suback')).granted
  }

  /** Unsubscribes and returns the codes of the UNSUBACK. */
  async unsubscribe(...filters: string[]): Promise<readonly number[]> {
    this.send({ cmd: 'unsubscribe', messageId: this.nextPacketId, unsubscriptions: filters })
    return (await this.next('unsuback')).granted
  }

  /**
   * Publishes a message and completes its exchange. Returns the reason code of the first acknowledgement, or 0 for QoS
   * 0.
   */
  async publish(topic: string, payload: string | Buffer, options: Partial<IPublishPacket> = {}): Promise<number> {
    const messageId = this.nextPacketId
    const packet = { cmd: 'publish', qos: 0, dup: false, retain: false, topic, payload, messageId, ...options } as const
    this.send(packet)
    if (packet.qos === 0) {
      await this.settled()
      return 0
    }
    if (packet.qos === 1) return (await this.next('puback')).reasonCode ?? 0
    const { reasonCode = 0 } = await this.next('pubrec')
    if (reasonCode >= 0x80) return reasonCode
    this.send({ cmd: 'pubrel', messageId: packet.messageId, reasonCode: 0 })
    await this.next('pubcomp')
    return reasonCode
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
}
