import { FLAG } from '../packet/layout.js'
import type { Content } from '../packet/publish.js'
import type { PublishEncoder } from '../packet/publish-encoder.js'
import type { AedesClient } from './aedes-client.js'
import { toKeptPacket } from './message.js'
import type { Outflow } from './outflow.js'
import type { Session } from './session.js'
import type { Subscriptions } from './subscriptions.js'

/** What all connections of a broker share. */
export interface Shared {
  readonly encoder: PublishEncoder
  /** Counts the deliveries of all connections. */
  nextNumber(): number
}

/** MQTT 5.0, section 2.4: Quota exceeded. */
const QUOTA_EXCEEDED = 151
/** A connection with more unsent bytes than this is ended, so that a slow client costs nobody else. */
const MAXIMUM_BACKLOG = 16 * 1024 * 1024

/** One client's connection at the broker. */
export class BrokerConnection {
  readonly #aedes: AedesClient
  readonly #outflow: Outflow
  readonly #subscriptions: Subscriptions
  readonly #shared: Shared
  #session: Session | undefined
  #sessionPresent: boolean | undefined

  constructor(aedes: AedesClient, outflow: Outflow, subscriptions: Subscriptions, shared: Shared) {
    this.#aedes = aedes
    this.#outflow = outflow
    this.#subscriptions = subscriptions
    this.#shared = shared
  }

  get clientId(): string {
    return this.#aedes.client.id
  }

  get open(): boolean {
    return !this.#aedes.client.closed
  }

  /** What was delivered and not acknowledged; while the connection lasts. */
  get session(): Session | undefined {
    return this.#session
  }

  get subscriptionCount(): number {
    return this.#subscriptions.count
  }

  subscribes(topic: string): boolean {
    return this.#subscriptions.grantedQos(topic) !== undefined
  }

  /** The client is the only one of its id from now on, and this is what it left unacknowledged. */
  begin(session: Session): void {
    this.#session = session
    this.#resume()
  }

  /** The client was told that it is connected, which may be before {@link begin}. */
  connected(sessionPresent: boolean): void {
    this.#sessionPresent = sessionPresent
    this.#resume()
  }

  #resume(): void {
    if (this.#session === undefined || this.#sessionPresent === undefined) return
    const { version, receiveMaximum } = this.#aedes.client
    // What is kept has properties, which no other version can read.
    if (!this.#sessionPresent || version !== 5) this.#session.clear()
    this.#session.resume(this.#send, receiveMaximum)
  }

  /** The connection is gone; returns what may be kept for the next one. */
  finish(): Session | undefined {
    const session = this.#session
    this.#session = undefined
    session?.suspend()
    return this.#aedes.client.clean ? undefined : session
  }

  /**
   * QoS 1, or 0 where that is what was granted, to this client alone; with QoS 1 kept for it if the session outlives the
   * connection. Contents that go to many connections are one object.
   */
  deliver(topic: string, content: Content): void {
    const { client, ending } = this.#aedes
    if (this.#session === undefined || client.closed) {
      client.publish(toKeptPacket(topic, content, this.#shared.nextNumber()), ignore)
      return
    }
    if (this.#outflow.unsent > MAXIMUM_BACKLOG && !ending) this.disconnect(QUOTA_EXCEEDED, 'too many unread messages')
    if (this.#subscriptions.grantedQos(topic) === 0) this.#send(topic, content, 0, false)
    else if (!this.#session.deliver(topic, content, !client.clean)) this.abandon()
  }

  /** Ends it with its session: too much is unacknowledged. */
  abandon(): void {
    // aedes wipes a session that ends with its connection.
    Object.assign(this.#aedes.client, { sessionExpiryInterval: 0, clean: true })
    this.#session?.clear()
    this.disconnect(QUOTA_EXCEEDED, 'too many unacknowledged messages')
  }

  disconnect(reasonCode: number, reason: string, closed: () => void = ignore): void {
    this.#aedes.client.disconnect({ reasonCode, properties: { reasonString: reason } }, closed)
  }

  /** Cuts the network connection without a word, as a broken network does. */
  cut(): void {
    this.#aedes.client.conn.destroy()
  }

  /** Packet id 0 stands for QoS 0. */
  readonly #send = (topic: string, content: Content, packetId: number, again: boolean): void => {
    if (this.#aedes.ending) return
    const { encoder } = this.#shared
    const apart = this.#outflow.isLarge(content.payload)
    const packet = apart
      ? encoder.encodeHead(topic, content, packetId, this.#outflow.room)
      : encoder.encodeTo(topic, content, packetId, this.#outflow.room)
    if (again) packet[0] = (packet[0] ?? 0) | FLAG.dup
    if (apart) this.#outflow.write(content.payload)
  }
}

// A failed write shows as the end of the connection, which the broker reports.
const ignore = (): void => undefined
