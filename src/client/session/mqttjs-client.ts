import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt'

/** What is told to those who listen to an `MqttClient`. */
interface MqttJsEvents {
  (event: 'connect', listener: (packet: IConnackPacket) => void): unknown
  (event: 'message', listener: (topic: string, payload: Uint8Array, packet: IPublishPacket) => void): unknown
  (event: 'packetreceive', listener: (packet: Packet) => void): unknown
  (event: 'disconnect', listener: (packet: { reasonCode?: number }) => void): unknown
  (event: 'error', listener: (error: Error) => void): unknown
  (event: 'close' | 'end', listener: () => void): unknown
}

/** The stream under an `MqttClient`; a browser's need not be able to cork. */
export interface MqttJsStream {
  write(chunk: Uint8Array): unknown
  cork?(): void
  uncork?(): void
  destroy(): unknown
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/**
 * What is asked of an `MqttClient` of mqtt.js. A shape and not its class, so that one of another copy or version of the
 * package than ours will do.
 *
 * @example
 * ```ts
 * const client: MqttJsClient = mqtt.connect('mqtt://localhost:1883', { protocolVersion: 5 })
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
  readonly serverProperties?: IConnackPacket['properties'] | undefined
  readonly stream: MqttJsStream
  readonly messageIdProvider: { allocate(): number | null; deallocate(id: number): void }
  /** What has no acknowledgement yet, by packet id. */
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
