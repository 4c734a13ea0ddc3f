import type { IClientOptions, MqttClient } from 'mqtt'
import { isBytes } from '../../core/util/built-in-types.js'
import type { MqttJsClient } from './mqttjs-client.js'

// All uses of undocumented mqtt.js behaviour; docs/decisions/reading-past-mqttjs.md gives the reasons. Each use has a
// spec in `spec/client/session/mqttjs-internals.spec.ts`, run against the oldest and the newest supported version.

interface Source {
  push(chunk: unknown, ...rest: unknown[]): boolean
}

/**
 * Receives a chunk before the stream's reader does; `pass` forwards data to that reader. Returns whether the
 * source may continue.
 */
export type Tap = (chunk: Uint8Array, pass: (chunk: Uint8Array) => boolean) => boolean

/**
 * Returns whether packets can be read before mqtt.js reads them. Otherwise its events supply the packets, more slowly.
 *
 * Not in the public API of mqtt.js: an event for a new stream, before mqtt.js reads from it.
 */
export const hasStreamBuilder = (client: object): boolean => typeof Reflect.get(client, 'streamBuilder') === 'function'

/** Calls `made` with every new stream of a client for which {@link hasStreamBuilder} is true. */
export function onStream(client: object, made: (stream: unknown) => void): void {
  const build: unknown = Reflect.get(client, 'streamBuilder')
  if (typeof build !== 'function') return
  Reflect.set(client, 'streamBuilder', (...args: unknown[]): unknown => {
    const stream: unknown = Reflect.apply(build, client, args)
    made(stream)
    return stream
  })
}

export type StreamBuilder = (...args: unknown[]) => unknown

export function streamBuilderOf(client: object): StreamBuilder | undefined {
  const build: unknown = Reflect.get(client, 'streamBuilder')
  return typeof build === 'function' ? (...args) => Reflect.apply(build, client, args) : undefined
}

/**
 * Replaces the stream builder of a client, so that it connects to another client's address.
 *
 * Not in the public API of mqtt.js: choosing the address of the next attempt. `servers` supports neither paths nor TLS
 * names, and picks the next address itself.
 */
export const setStreamBuilder = (client: object, build: StreamBuilder): boolean =>
  Reflect.set(client, 'streamBuilder', build)

/**
 * Intercepts data pushed into a stream. Returns a function that passes data to the stream's reader, or `undefined`
 * if the stream cannot be intercepted.
 *
 * Not in the public API of mqtt.js: reading packets before its queue, which takes twenty steps and a turn of the event
 * loop for each packet.
 */
export function tapStream(stream: unknown, tap: Tap): ((chunk: Uint8Array) => boolean) | undefined {
  if (!isSource(stream)) return undefined
  const { push } = stream
  const pass = (chunk: Uint8Array): boolean => Reflect.apply(push, stream, [chunk])
  stream.push = (chunk, ...rest) => (isBytes(chunk) ? tap(chunk, pass) : Reflect.apply(push, stream, [chunk, ...rest]))
  return pass
}

const isSource = (stream: unknown): stream is Source =>
  typeof stream === 'object' && stream !== null && 'push' in stream && typeof stream.push === 'function'

/**
 * Keeps a connection while bytes arrive, and pings the broker again. mqtt.js waits for the PINGRESP alone. On a slow
 * link, a large packet may take longer than that wait and delays the PINGRESP, so the connection would end before any
 * attempt to read the packet succeeds.
 *
 * Not in the public API of mqtt.js: the end of a connection without a PINGRESP. `sendPing` and `onKeepaliveTimeout` are
 * called for the keep-alive.
 *
 * @param receivedBytes - returns the number of bytes received on all connections of the client
 */
export function keepWhileReceiving(client: object, receivedBytes: () => number): void {
  const sendPing: unknown = Reflect.get(client, 'sendPing')
  const onTimeout: unknown = Reflect.get(client, 'onKeepaliveTimeout')
  if (typeof sendPing !== 'function' || typeof onTimeout !== 'function') return
  let bytesAtPing = 0
  const ping = (): void => {
    bytesAtPing = receivedBytes()
    Reflect.apply(sendPing, client, [])
  }
  Reflect.set(client, 'sendPing', ping)
  Reflect.set(client, 'onKeepaliveTimeout', () => {
    if (receivedBytes() > bytesAtPing) ping()
    else Reflect.apply(onTimeout, client, [])
  })
}

/**
 * Changes the options of a client's next CONNECT.
 *
 * Not in the public API of mqtt.js: credentials per attempt. mqtt.js reads its options for every CONNECT.
 */
export const changeOptions = (
  { options }: Pick<MqttClient, 'options'>,
  changed: { readonly [K in keyof IClientOptions]: IClientOptions[K] | undefined },
): IClientOptions => Object.assign(options, changed)

/**
 * Returns the filters for a SUBSCRIBE that is always sent. `rap` is Retain As Published (MQTT 5.0, section 3.8.3.1).
 *
 * Not in the public API of mqtt.js: subscribing again. Without this flag, mqtt.js does not send a filter that it has
 * subscribed before.
 */
export const toSubscribeFilters = (
  filters: readonly string[],
  rap: boolean,
): Record<string, { qos: 1; rap: boolean }> & { resubscribe: boolean } =>
  Object.assign(Object.fromEntries(filters.map(filter => [filter, { qos: 1 as const, rap }])), { resubscribe: true })

/**
 * Returns whether mqtt.js awaits the acknowledgement of a packet.
 *
 * Not in the public API of mqtt.js: the packet ids in use. The provider of mqtt.js reuses an id after 65,535 others.
 */
export const isOutgoing = ({ outgoing }: MqttJsClient, packetId: number): boolean => outgoing[packetId] !== undefined
