import { connect, type Socket } from 'node:net'
import mqttPacket, {
  type IConnackPacket,
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type ISubscription,
  type Packet,
} from 'mqtt-packet'
import { onTestFinished } from 'vitest'

type Of<C extends Packet['cmd']> = Extract<Packet, { cmd: C }>
type Version = 4 | 5

/** A client in the words of a foreign codec. It does what it is told and nothing else. */
export class Peer {
  readonly version: Version
  /** What came and was not asked for yet. */
  readonly packets: Packet[] = []
  /** Settles when the server has ended the connection. */
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #waiting = new Set<() => void>()
  #open = true
  #packetId = 0

  private constructor(port: number, version: Version) {
    this.version = version
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const parser = mqttPacket.parser({ protocolVersion: version })
    parser.on('packet', packet => this.packets.push(packet))
    parser.on('error', error => this.#socket.destroy(error))
    this.#socket.on('data', data => {
      parser.parse(data)
      this.#wake()
    })
    this.#socket.on('error', () => undefined)
    this.closed = new Promise(resolve =>
      this.#socket.once('close', () => {
        this.#open = false
        this.#wake()
        resolve()
      }),
    )
    onTestFinished(() => void this.#socket.destroy())
  }

  /** A connection on which nothing is said yet. */
  static open(port: number, version: Version = 5): Peer {
    return new Peer(port, version)
  }

  /** Connects, clean unless said otherwise, whatever the answer is. */
  static async greet(
    port: number,
    clientId: string,
    options: Partial<IConnectPacket> = {},
  ): Promise<[Peer, IConnackPacket]> {
    const version = options.protocolVersion === 4 ? 4 : 5
    const peer = new Peer(port, version)
    const defaults = { protocolId: 'MQTT', protocolVersion: version, clean: true, keepalive: 0 } as const
    peer.send({ cmd: 'connect', clientId, ...defaults, ...options })
    return [peer, await peer.next('connack')]
  }

  /** Connects; rejects when the server does not want it. */
  static async connect(port: number, clientId: string, options: Partial<IConnectPacket> = {}): Promise<Peer> {
    const [peer, { reasonCode, returnCode }] = await Peer.greet(port, clientId, options)
    if ((reasonCode ?? returnCode) !== 0) throw new Error(`CONNACK ${reasonCode ?? returnCode}`)
    return peer
  }

  get nextPacketId(): number {
    return ++this.#packetId
  }

  send(...packets: readonly Packet[]): void {
    this.write(Buffer.concat(packets.map(packet => mqttPacket.generate(packet, { protocolVersion: this.version }))))
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Takes the next packet of a kind, past those of other kinds. Rejects when the connection ends before it. */
  async next<C extends Packet['cmd']>(cmd: C): Promise<Of<C>> {
    for (;;) {
      const found = this.packets.find((packet): packet is Of<C> => packet.cmd === cmd)
      if (found !== undefined) {
        this.packets.splice(this.packets.indexOf(found), 1)
        return found
      }
      if (!this.#open) throw new Error(`The connection ended before ${cmd}`)
      await this.#something()
    }
  }

  /** The next packet of any kind, or `closed`. */
  async anything(): Promise<Packet | 'closed'> {
    while (this.packets.length === 0 && this.#open) await this.#something()
    return this.packets.shift() ?? 'closed'
  }

  /** The reason that the server gives before it ends the connection; undefined when it says nothing. */
  async ended(): Promise<number | undefined> {
    await this.closed
    return this.packets.find((packet): packet is Of<'disconnect'> => packet.cmd === 'disconnect')?.reasonCode
  }

  /** Settles when the server has dealt with all that was sent, and all that it had to say before is here. */
  async settled(): Promise<void> {
    this.send({ cmd: 'pingreq' })
    await this.next('pingresp')
  }

  /** All publishes that have come and were not asked for yet. */
  async publishes(): Promise<IPublishPacket[]> {
    await this.settled()
    const publishes = this.packets.filter((packet): packet is IPublishPacket => packet.cmd === 'publish')
    for (const publish of publishes) this.packets.splice(this.packets.indexOf(publish), 1)
    return publishes
  }

  /** What the publishes that have come say. */
  async texts(): Promise<string[]> {
    return (await this.publishes()).map(({ payload }) => payload.toString())
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

  /** Says DISCONNECT. */
  async disconnect(reasonCode = 0, sessionExpiryInterval?: number): Promise<void> {
    const properties = sessionExpiryInterval === undefined ? {} : { properties: { sessionExpiryInterval } }
    this.send({ cmd: 'disconnect', reasonCode, ...properties })
    this.#socket.end()
    await this.closed
  }

  /** Ends the connection without a word. */
  async cut(): Promise<void> {
    this.#socket.end()
    await this.closed
  }

  async #something(): Promise<void> {
    await new Promise<void>(resolve => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
