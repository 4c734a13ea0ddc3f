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

/** How long a broker may take over anything, ms of real time, whatever a spec does with time. */
const PATIENCE_MS = 10_000
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis

const oneOf =
  <C extends Packet['cmd']>(cmd: C) =>
  (packet: Packet): packet is Of<C> =>
    packet.cmd === cmd

/** An MQTT client on a foreign codec. It sends only what a spec says, and acknowledges nothing by itself. */
export class TestClient extends RawSocket {
  readonly version: Version
  /** Received packets that were not taken yet. */
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

  /** Connects, with a clean start by default, and returns the CONNACK with any reason code. */
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

  /** Connects; rejects when the server does not want it. */
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

  /** Settles when it holds or the connection has ended; rejects when neither comes. */
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

  /** Takes the next packet, or the next of a kind, skipping others. Rejects when the connection ends before. */
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

  /** Takes the next packet of any kind, or says `closed`. */
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

  /** The same, once there are `count`. Rejects when the connection ends before. */
  async came<C extends Packet['cmd']>(cmd: C, count = 1): Promise<Of<C>[]> {
    await this.until(() => this.all(cmd).length >= count)
    const all = this.all(cmd)
    if (all.length < count) throw new Error(`The connection ended after ${all.length} of ${count} ${cmd}`)
    return all
  }

  /** The reason that the server gives before it ends the connection; undefined when it says nothing. */
  async dismissed(): Promise<number | undefined> {
    await this.closed
    return this.all('disconnect')[0]?.reasonCode
  }

  /** Settles when the server has processed everything that was sent, and its responses are here. */
  override async settled(): Promise<void> {
    this.send({ cmd: 'pingreq' })
    await this.next('pingresp')
  }

  /** Takes all publishes that have come. */
  async takePublishes(): Promise<IPublishPacket[]> {
    await this.settled()
    const publishes = this.publishes
    this.packets.splice(0, this.packets.length, ...this.packets.filter(({ cmd }) => cmd !== 'publish'))
    return publishes
  }

  /** What the publishes that have come say. */
  async texts(): Promise<string[]> {
    return (await this.takePublishes()).map(({ payload }) => payload.toString())
  }

  /** The codes of the SUBACK. */
  async subscribe(
    subscription: string | ISubscription | readonly ISubscription[],
    properties?: ISubscribePacket['properties'],
  ): Promise<readonly unknown[]> {
    const list = typeof subscription === 'string' ? [{ topic: subscription, qos: 2 } as const] : [subscription].flat()
    const subscriptions = list.map(each => (this.version === 5 ? { nl: false, rap: false, rh: 0, ...each } : each))
    this.send({ cmd: 'subscribe', messageId: this.nextPacketId, subscriptions, ...(properties ? { properties } : {}) })
    return (await this.next('suback')).granted
  }

  /** The codes of the UNSUBACK. */
  async unsubscribe(...filters: string[]): Promise<readonly number[]> {
    this.send({ cmd: 'unsubscribe', messageId: this.nextPacketId, unsubscriptions: filters })
    return (await this.next('unsuback')).granted
  }

  /** Publishes and goes through with it. The reason code of the first acknowledgement; 0 for QoS 0. */
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

  /** Acknowledges messages of QoS 1. */
  acknowledge(...publishes: readonly IPublishPacket[]): void {
    this.send(...publishes.map(({ messageId = 0 }): Packet => ({ cmd: 'puback', messageId, reasonCode: 0 })))
  }

  /** Says DISCONNECT. */
  async disconnect(reasonCode = 0, sessionExpiryInterval?: number): Promise<void> {
    const properties = sessionExpiryInterval === undefined ? {} : { properties: { sessionExpiryInterval } }
    this.send({ cmd: 'disconnect', reasonCode, ...properties })
    await this.end()
  }

  /** Closes the connection without DISCONNECT, after everything that was sent. */
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
