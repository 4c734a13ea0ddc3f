import type { IPublishPacket, ISubscribePacket, ISubscription, Packet } from 'mqtt-packet'
import { type Acknowledgement, type ConnectOptions, TestClient, versionOf } from './test-client.js'
import { INVOKE_TOPIC, notificationTopicOf, responseTopicOf } from './topics.js'
import { textOf } from './words.js'

/** A received PUBLISH. */
export class Received {
  readonly packet: IPublishPacket

  constructor(packet: IPublishPacket) {
    this.packet = packet
  }

  get topic(): string {
    return this.packet.topic
  }

  get payload(): Buffer {
    return Buffer.from(this.packet.payload)
  }

  get text(): string {
    return textOf(this.payload)
  }

  get version(): string | undefined {
    const version = this.property('__ts')
    return typeof version === 'string' ? version : undefined
  }

  /** Returns a user property. */
  property(name: string): string | string[] | undefined {
    return this.packet.properties?.userProperties?.[name]
  }
}

export interface StoreRequest {
  readonly timestamp?: string | undefined
  readonly fencingToken?: string | undefined
  readonly userProperties?: Record<string, string | string[]>
  readonly qos?: 0 | 1 | 2
  readonly retain?: boolean
  /** `null` omits the response topic. */
  readonly responseTopic?: string | null
  readonly correlationData?: Buffer | null
  /** The message expiry in seconds. */
  readonly expiry?: number
}

interface Pending {
  resolve(response: Received): void
  reject(error: Error): void
}

/** A client that acknowledges messages, sends requests to the store and waits for their responses. */
export class StoreClient extends TestClient {
  readonly id: string
  /** Received messages that are not responses to requests of this client. */
  readonly inbox: Received[] = []
  isAcknowledging = true
  readonly #pending = new Map<string, Pending>()
  #count = 0

  private constructor(url: string, id: string, options: ConnectOptions) {
    super(url, versionOf(options), options)
    this.id = id
    this.onPacket = packet => this.#receive(packet)
    this.closed.then(() => {
      for (const { reject } of this.#pending.values()) reject(new Error('The connection was closed'))
    })
  }

  /** Connects without a subscription. Rejects if the server refuses the connection. */
  static override async connect(url: string, id: string, options: ConnectOptions = {}): Promise<StoreClient> {
    const client = new StoreClient(url, id, options)
    await client.login(id, options)
    return client
  }

  /** Connects and subscribes to the responses and, as the protocol requires, to the notifications. */
  static async ready(url: string, id: string, options: ConnectOptions = {}): Promise<StoreClient> {
    const client = await StoreClient.connect(url, id, options)
    await Promise.all([client.subscribe(responseTopicOf(id)), client.subscribe(notificationTopicOf(id))])
    return client
  }

  /** Subscribes, with QoS 1 by default. Returns the codes of the SUBACK. */
  override async subscribe(
    subscription: string | ISubscription | readonly ISubscription[],
    properties?: ISubscribePacket['properties'],
  ): Promise<readonly unknown[]> {
    return super.subscribe(
      typeof subscription === 'string' ? { topic: subscription, qos: 1 } : subscription,
      properties,
    )
  }

  /** Publishes, with QoS 1 by default. Returns the first acknowledgement. */
  override async publishAcknowledged(
    topic: string,
    payload: string | Buffer,
    options: Partial<IPublishPacket> = {},
  ): Promise<Acknowledgement> {
    return super.publishAcknowledged(topic, payload, { qos: 1, ...options })
  }

  /** Sends a request without waiting for a response. Returns the acknowledgement. */
  async sendRequest(payload: Buffer, request: StoreRequest = {}): Promise<Acknowledgement> {
    const { responseTopic = responseTopicOf(this.id), correlationData = Buffer.from('nobody waits') } = request
    const { timestamp, fencingToken, qos = 1, retain = false } = request
    const userProperties = {
      ...(timestamp === undefined ? {} : { __ts: timestamp }),
      ...(fencingToken === undefined ? {} : { __ft: fencingToken }),
      ...request.userProperties,
    }
    return this.publishAcknowledged(INVOKE_TOPIC, payload, {
      qos,
      retain,
      properties: {
        ...(responseTopic === null ? {} : { responseTopic }),
        ...(correlationData === null ? {} : { correlationData }),
        ...(request.expiry === undefined ? {} : { messageExpiryInterval: request.expiry }),
        // The codec encodes no packet with an empty object.
        ...(Object.keys(userProperties).length === 0 ? {} : { userProperties }),
      },
    })
  }

  /** Sends a request and waits for the response. Rejects if the request is not accepted. */
  async request(payload: Buffer, request: StoreRequest = {}): Promise<Received> {
    const correlationData = request.correlationData ?? Buffer.from(`${this.id}-${++this.#count}`)
    const id = textOf(correlationData)
    const response = new Promise<Received>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    this.sendRequest(payload, { ...request, correlationData }).then(
      ({ reasonCode, reasonString }) => {
        if (reasonCode >= 0x80) this.#pending.get(id)?.reject(new Error(`PUBACK ${reasonCode}: ${reasonString}`))
      },
      error => this.#pending.get(id)?.reject(error),
    )
    return response
  }

  /** Resolves when the store has processed everything that was sent, and its responses have arrived. */
  override async settled(): Promise<void> {
    await this.request(Buffer.from('*2\r\n$3\r\nGET\r\n$6\r\nmarker\r\n'))
  }

  /** Returns the inbox as soon as it has `count` messages. Rejects if the connection ends first. */
  async arrived(count: number): Promise<readonly Received[]> {
    await this.until(() => this.inbox.length >= count)
    if (this.inbox.length < count)
      throw new Error(`The connection ended after ${this.inbox.length} of ${count} messages`)
    return this.inbox
  }

  #receive(packet: Packet): void {
    if (packet.cmd === 'pubrel') this.send({ cmd: 'pubcomp', messageId: packet.messageId ?? 0, reasonCode: 0 })
    else if (packet.cmd === 'publish') this.#accept(packet)
    else this.packets.push(packet)
  }

  #accept(packet: IPublishPacket): void {
    const { qos, messageId = 0, topic, properties } = packet
    if (qos > 0 && this.isAcknowledging) this.send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode: 0 })
    const id = textOf(properties?.correlationData ?? Buffer.alloc(0))
    const pending = topic === responseTopicOf(this.id) ? this.#pending.get(id) : undefined
    if (pending === undefined) this.inbox.push(new Received(packet))
    else {
      this.#pending.delete(id)
      pending.resolve(new Received(packet))
    }
  }
}
