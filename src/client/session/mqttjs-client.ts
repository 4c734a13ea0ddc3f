import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt'
import { utf8 } from '../../core/util/bytes.js'
import type { InboundMessage } from './session.js'

/** The listener methods of an `MqttClient`. */
export interface MqttJsEvents {
  (event: 'connect', listener: (packet: IConnackPacket) => void): unknown
  (event: 'message', listener: (topic: string, payload: Uint8Array, packet: IPublishPacket) => void): unknown
  (event: 'packetreceive', listener: (packet: Packet) => void): unknown
  (event: 'disconnect', listener: (packet: { reasonCode?: number }) => void): unknown
  (event: 'error', listener: (error: Error) => void): unknown
  (event: 'close' | 'end', listener: () => void): unknown
}

/** CONNACK properties of an `MqttClient`. */
export type MqttJsServer = Pick<
  NonNullable<IConnackPacket['properties']>,
  | 'maximumPacketSize'
  | 'maximumQoS'
  | 'receiveMaximum'
  | 'retainAvailable'
  | 'subscriptionIdentifiersAvailable'
  | 'wildcardSubscriptionAvailable'
> & { readonly userProperties?: Readonly<Record<string, string | readonly string[]>> | undefined }

/** The stream of an `MqttClient`; in browsers it may lack `cork`. */
export interface MqttJsStream {
  write(chunk: Uint8Array): unknown
  cork?(): void
  uncork?(): void
  destroy(): unknown
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/**
 * The members of an mqtt.js `MqttClient` that this package uses. The type is structural, so that clients of other
 * copies and versions of mqtt.js match.
 *
 * @example
 * ```ts
 * const client: MqttJsClient = mqtt.connect('mqtt://localhost:1883', {
 *   protocolVersion: 5,
 * })
 * ```
 */
export interface MqttJsClient {
  readonly connected: boolean
  readonly disconnecting: boolean
  readonly disconnected: boolean
  readonly options: {
    readonly clientId?: string | undefined
    readonly protocolVersion?: number | undefined
  }
  readonly serverProperties?: MqttJsServer | undefined
  /**
   * The stream, to which this package writes packets between the packets of mqtt.js. mqtt.js writes each of its packets
   * in one piece.
   *
   * Not in the public API of mqtt.js: publishing with QoS 1 without resending after a reconnect.
   */
  readonly stream: MqttJsStream
  readonly messageIdProvider: { allocate(): number | null; deallocate(id: number): void }
  /** Unacknowledged packets by packet id. */
  readonly outgoing: Readonly<Record<number, unknown>>
  on: MqttJsEvents
  once: MqttJsEvents
  off: MqttJsEvents
  publish: unknown
  subscribe(
    filters: Record<string, { qos: 0 | 1 | 2 }> & { resubscribe?: boolean },
    options: { properties?: { subscriptionIdentifier?: number } },
    done: (error: Error | null, granted?: unknown, packet?: { readonly granted: readonly unknown[] }) => void,
  ): unknown
  unsubscribe(filters: string[], options?: object, done?: (error?: Error | null) => void): unknown
  end(force: boolean, options?: { properties?: { sessionExpiryInterval?: number } }): unknown
  sendPing(): void
}

interface MqttJsListener {
  connect(packet: IConnackPacket): void
  packetreceive(packet: Packet): void
  message(topic: string, payload: Uint8Array, packet: IPublishPacket): void
  disconnect(packet: { reasonCode?: number }): void
  error(error: Error): void
  close(): void
  end(): void
}

export function listenTo(client: MqttJsClient, listener: MqttJsListener): () => void {
  const change = (method: 'on' | 'off'): void => {
    client[method]('connect', listener.connect)
    client[method]('packetreceive', listener.packetreceive)
    client[method]('message', listener.message)
    client[method]('disconnect', listener.disconnect)
    client[method]('error', listener.error)
    client[method]('close', listener.close)
    client[method]('end', listener.end)
  }
  change('on')
  return () => change('off')
}

/**
 * Converts a message of mqtt.js, whose `properties` may be missing.
 *
 * @param topic - the topic that mqtt.js resolved; the packet's topic is empty with a topic alias (MQTT 5.0, section
 * 3.3.2.3.4)
 */
export function toMessage(topic: string, { payload, properties }: IPublishPacket): InboundMessage {
  return {
    topic,
    // Copied, because a stored value must not retain its network buffer.
    payload: typeof payload === 'string' ? utf8(payload) : new Uint8Array(payload),
    correlationData: properties?.correlationData,
    contentType: properties?.contentType,
    userProperties: properties?.userProperties ?? {},
    subscriptionIds: [properties?.subscriptionIdentifier ?? []].flat(),
  }
}

/** Returns the MQTT reason code of an mqtt.js error, or `undefined` for a system error, whose code is a string. */
export const numericCode = (error: Error): number | undefined =>
  'code' in error && typeof error.code === 'number' ? error.code : undefined
