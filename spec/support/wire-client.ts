import { createConnection, type Socket } from 'node:net'
import mqttPacket, { type IConnectPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { eventually } from './eventually.js'
import type { UserProperties } from './raw-client.js'
import { INVOKE_TOPIC, responseTopicOf } from './topics.js'

const V5 = { protocolVersion: 5 }

/** The bytes of an MQTT 5 packet. */
export const bytesOf = (packet: Packet): Buffer => mqttPacket.generate(packet, V5)

/** A request to the store as a packet; its correlation data is the packet id unless something else is given. */
export function requestPacket(
  clientId: string,
  payload: Buffer,
  messageId: number,
  properties: {
    readonly userProperties?: UserProperties
    readonly topicAlias?: number
    readonly correlationData?: Buffer
  } = {},
): IPublishPacket {
  return {
    cmd: 'publish',
    topic: INVOKE_TOPIC,
    payload,
    qos: 1,
    dup: false,
    retain: false,
    messageId,
    properties: {
      responseTopic: responseTopicOf(clientId),
      correlationData: Buffer.from(`${messageId}`),
      ...properties,
    },
  }
}

/** A client that does nothing of itself: it sends packets, keeps what comes, and acknowledges only when told to. */
export class WireClient {
  readonly socket: Socket
  readonly packets: Packet[] = []
  /** Settles when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>

  private constructor(url: string) {
    this.socket = createConnection({ host: '127.0.0.1', port: Number(new URL(url).port), noDelay: true })
    this.closed = new Promise(resolve => this.socket.once('close', () => resolve()))
    this.socket.on('error', () => undefined)
    const parser = mqttPacket.parser(V5)
    parser.on('packet', packet => this.packets.push(packet))
    this.socket.on('data', data => parser.parse(data))
    onTestFinished(() => void this.socket.destroy())
  }

  /** A TCP connection; nothing is said yet. */
  static async open(url: string): Promise<WireClient> {
    const client = new WireClient(url)
    await new Promise(resolve => client.socket.once('connect', resolve))
    return client
  }

  /** Connects and waits for CONNACK. */
  static async connect(url: string, clientId: string, options: Partial<IConnectPacket> = {}): Promise<WireClient> {
    const client = await WireClient.open(url)
    const defaults = { protocolId: 'MQTT', protocolVersion: 5, clean: true, keepalive: 0 } as const
    client.send({ cmd: 'connect', clientId, ...defaults, ...options })
    await client.came('connack')
    return client
  }

  send(...packets: readonly Packet[]): void {
    this.socket.write(Buffer.concat(packets.map(bytesOf)))
  }

  async subscribe(topic: string, qos: 0 | 1 | 2 = 1): Promise<void> {
    const before = this.all('suback').length
    this.send({ cmd: 'subscribe', messageId: 1 + before, subscriptions: [{ topic, qos }] })
    await this.came('suback', before + 1)
  }

  acknowledge(...publishes: readonly IPublishPacket[]): void {
    this.send(
      ...publishes.map(({ messageId }): Packet => ({ cmd: 'puback', messageId: messageId ?? 0, reasonCode: 0 })),
    )
  }

  /** What came of a kind. */
  all<C extends Packet['cmd']>(cmd: C): Extract<Packet, { cmd: C }>[] {
    return this.packets.filter((packet): packet is Extract<Packet, { cmd: C }> => packet.cmd === cmd)
  }

  get publishes(): IPublishPacket[] {
    return this.all('publish')
  }

  /** Settles when so many of a kind have come. */
  async came<C extends Packet['cmd']>(cmd: C, count = 1): Promise<Extract<Packet, { cmd: C }>[]> {
    await eventually(() => this.all(cmd).length >= count)
    return this.all(cmd)
  }

  /** Settles when the server has dealt with everything sent so far, and all it had to say is here. */
  async settled(): Promise<void> {
    const before = this.all('pingresp').length
    this.send({ cmd: 'pingreq' })
    await this.came('pingresp', before + 1)
  }

  /** Breaks the connection. */
  async cut(): Promise<void> {
    this.socket.destroy()
    await this.closed
  }
}
