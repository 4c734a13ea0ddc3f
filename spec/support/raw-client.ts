import { Socket } from 'node:net'
import {
  connect,
  ErrorWithReasonCode,
  type IClientOptions,
  type IClientPublishOptions,
  type IPublishPacket,
  type MqttClient,
} from 'mqtt'
import { onTestFinished } from 'vitest'
import { INVOKE_TOPIC, notificationTopicOf, responseTopicOf } from './topics.js'
import { textOf } from './words.js'

export type UserProperties = Record<string, string | string[]>

/** The acknowledgement of a PUBLISH. Code 0 stands for QoS 0, which has no acknowledgement. */
export interface Acknowledgement {
  readonly reasonCode: number
  readonly reasonString: string | undefined
}

/** A received PUBLISH. */
export class Received {
  readonly topic: string
  readonly payload: Buffer
  readonly packet: IPublishPacket

  constructor(topic: string, payload: Buffer, packet: IPublishPacket) {
    this.topic = topic
    this.payload = payload
    this.packet = packet
  }

  get text(): string {
    return textOf(this.payload)
  }

  /** Returns a user property. */
  property(name: string): string | string[] | undefined {
    return this.packet.properties?.userProperties?.[name]
  }

  get version(): string | undefined {
    const version = this.property('__ts')
    return typeof version === 'string' ? version : undefined
  }
}

export interface RawRequest {
  readonly timestamp?: string | undefined
  readonly fencingToken?: string | undefined
  readonly userProperties?: UserProperties
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

/** A client that only sends requests and waits for their responses. It keeps all other received messages. */
export class RawClient {
  readonly id: string
  readonly mqtt: MqttClient
  /** Received messages that are not responses to requests of this client. */
  readonly inbox: Received[] = []
  /** Resolves when the connection has ended, with the reason code of the server's DISCONNECT if there was one. */
  readonly closed: Promise<number | undefined>
  readonly #pending = new Map<string, Pending>()
  readonly #waiting = new Set<() => void>()
  #count = 0

  private constructor(id: string, client: MqttClient) {
    this.id = id
    this.mqtt = client
    let reasonCode: number | undefined
    client.on('disconnect', packet => {
      reasonCode = packet.reasonCode
    })
    client.on('error', error => this.#fail(error))
    client.on('message', (topic, payload, packet) => this.#receive(new Received(topic, payload, packet)))
    this.closed = new Promise(resolve => {
      client.once('close', () => {
        this.#fail(new Error(`The connection was closed (${reasonCode})`))
        resolve(reasonCode)
      })
    })
  }

  /** Connects without a subscription. The client closes at the end of the test. */
  static async connect(url: string, id: string, options: IClientOptions = {}): Promise<RawClient> {
    const defaults: IClientOptions = { protocolVersion: 5, keepalive: 0, reconnectPeriod: 0 }
    const mqtt = connect(url, { ...defaults, ...options, clientId: id })
    // The handler is registered before the connection, because messages of a kept session may arrive with CONNACK.
    const client = new RawClient(id, mqtt)
    await new Promise<void>((resolve, reject) => {
      mqtt.once('connect', () => resolve())
      mqtt.once('error', reject)
    })
    if (mqtt.stream instanceof Socket) mqtt.stream.setNoDelay(true)
    onTestFinished(async () => mqtt.endAsync(true))
    return client
  }

  /** Connects and subscribes to the responses and, as the protocol requires, to the notifications. */
  static async ready(url: string, id: string, options: IClientOptions = {}): Promise<RawClient> {
    const client = await RawClient.connect(url, id, options)
    await Promise.all([client.subscribe(responseTopicOf(id)), client.subscribe(notificationTopicOf(id))])
    return client
  }

  /** Returns the granted QoS, or the reason code of the rejection. */
  async subscribe(filter: string, qos: 0 | 1 | 2 = 1): Promise<number> {
    return new Promise((resolve, reject) => {
      this.mqtt.subscribe(filter, { qos }, (error, _granted, packet) => {
        const code = packet?.granted[0]
        if (typeof code === 'number') resolve(code)
        else reject(error ?? new Error('SUBACK without a code'))
      })
    })
  }

  async publish(
    topic: string,
    payload: Buffer | string,
    options: IClientPublishOptions = {},
  ): Promise<Acknowledgement> {
    // Otherwise mqtt.js would keep the message for a connection that is never established.
    if (!this.mqtt.connected) throw new Error(`${this.id} is not connected`)
    return new Promise((resolve, reject) => {
      this.mqtt.publish(topic, payload, { qos: 1, ...options }, (error, packet) => {
        const reasonString =
          packet !== undefined && packet.cmd === 'puback' ? packet.properties?.reasonString : undefined
        if (error instanceof ErrorWithReasonCode) resolve({ reasonCode: error.code, reasonString })
        else if (error) reject(error)
        else resolve({ reasonCode: 0, reasonString })
      })
    })
  }

  /** Sends a request without waiting for a response. */
  async send(payload: Buffer, request: RawRequest = {}): Promise<Acknowledgement> {
    const { responseTopic = responseTopicOf(this.id), correlationData = Buffer.from('nobody waits') } = request
    const userProperties = propertiesOf(request)
    return this.publish(INVOKE_TOPIC, payload, {
      qos: request.qos ?? 1,
      retain: request.retain ?? false,
      properties: {
        ...(responseTopic === null ? {} : { responseTopic }),
        ...(correlationData === null ? {} : { correlationData }),
        ...(request.expiry === undefined ? {} : { messageExpiryInterval: request.expiry }),
        // mqtt.js sends no properties if they are empty.
        ...(Object.keys(userProperties).length === 0 ? {} : { userProperties }),
      },
    })
  }

  /** Sends a request and waits for the response. Rejects if the request is not accepted. */
  async request(payload: Buffer, request: RawRequest = {}): Promise<Received> {
    const correlationData = request.correlationData ?? Buffer.from(`${this.id}-${++this.#count}`)
    const id = textOf(correlationData)
    const response = new Promise<Received>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    this.send(payload, { ...request, correlationData }).then(
      ({ reasonCode, reasonString }) => {
        if (reasonCode !== 0) this.#pending.get(id)?.reject(new Error(`PUBACK ${reasonCode}: ${reasonString}`))
      },
      error => this.#pending.get(id)?.reject(error),
    )
    return response
  }

  /** Resolves when everything that the server has sent so far has arrived. */
  async settled(): Promise<void> {
    await this.request(Buffer.from('*2\r\n$3\r\nGET\r\n$6\r\nmarker\r\n'))
  }

  /** Resolves when the inbox has `count` messages. */
  async received(count: number): Promise<readonly Received[]> {
    while (this.inbox.length < count) await new Promise<void>(resolve => this.#waiting.add(resolve))
    return this.inbox
  }

  async end(): Promise<void> {
    await this.mqtt.endAsync()
    await this.closed
  }

  #fail(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error)
    this.#pending.clear()
  }

  #receive(message: Received): void {
    const id = textOf(message.packet.properties?.correlationData ?? Buffer.alloc(0))
    const pending = message.topic === responseTopicOf(this.id) ? this.#pending.get(id) : undefined
    if (pending === undefined) {
      this.inbox.push(message)
    } else {
      this.#pending.delete(id)
      pending.resolve(message)
    }
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

function propertiesOf({ timestamp, fencingToken, userProperties }: RawRequest): UserProperties {
  return {
    ...(timestamp === undefined ? {} : { __ts: timestamp }),
    ...(fencingToken === undefined ? {} : { __ft: fencingToken }),
    ...userProperties,
  }
}
