import type { IClientOptions, MqttClient } from 'mqtt'
import type { MqttJsClient } from './mqttjs-client.js'

// All that this package knows of mqtt.js beyond what its pages promise. docs/decisions/reading-past-mqttjs.md says why it
// is needed at all. `spec/client/session/mqttjs-internals.spec.ts` has a spec for each, which the oldest and the newest version pass.

/** A stream into which its source pushes what it reads, as Node's streams and their copies in browsers do. */
interface Source {
  push(chunk: unknown, ...rest: unknown[]): boolean
}

/** Takes a chunk before its reader; `pass` hands on what is not taken. Returns whether the source may go on. */
export type Tap = (chunk: Uint8Array, pass: (chunk: Uint8Array) => boolean) => boolean

/**
 * Whether we may see what comes before mqtt.js does. Where not, its own events tell it all, only slower.
 *
 * Missing in public: an event for a new stream, before mqtt.js reads from it.
 */
export const hasStreamBuilder = (client: object): boolean => typeof Reflect.get(client, 'streamBuilder') === 'function'

/** Tells every new stream of a client that {@link hasStreamBuilder}. */
export function onStream(client: object, made: (stream: unknown) => void): void {
  const build: unknown = Reflect.get(client, 'streamBuilder')
  if (typeof build !== 'function') return
  Reflect.set(client, 'streamBuilder', (...args: unknown[]): unknown => {
    const stream: unknown = Reflect.apply(build, client, args)
    made(stream)
    return stream
  })
}

/** Makes the stream for the next connection of the client it is given. */
export type StreamBuilder = (...args: unknown[]) => unknown

/** How a client makes its streams; `undefined` where it cannot {@link hasStreamBuilder be seen}. */
export function streamBuilderOf(client: object): StreamBuilder | undefined {
  const build: unknown = Reflect.get(client, 'streamBuilder')
  return typeof build === 'function' ? (...args) => Reflect.apply(build, client, args) : undefined
}

/**
 * Lets another client's builder make the streams of a client, so that it goes where that one would.
 *
 * Missing in public: another address for the next attempt. `servers` knows of no paths and names for TLS, and decides by
 * itself which is next.
 */
export const buildStreamsBy = (client: object, build: StreamBuilder): boolean =>
  Reflect.set(client, 'streamBuilder', build)

/**
 * Sees what a stream's source pushes before its reader does. Returns a function that hands something on to the reader, or
 * `undefined` when nothing can be seen of this stream.
 *
 * Missing in public: reading a packet past the queue of mqtt.js, which takes twenty steps and a turn for each.
 */
export function tapStream(stream: unknown, tap: Tap): ((chunk: Uint8Array) => boolean) | undefined {
  if (!isSource(stream)) return undefined
  const { push } = stream
  const pass = (chunk: Uint8Array): boolean => Reflect.apply(push, stream, [chunk])
  stream.push = (chunk, ...rest) =>
    chunk instanceof Uint8Array ? tap(chunk, pass) : Reflect.apply(push, stream, [chunk, ...rest])
  return pass
}

const isSource = (stream: unknown): stream is Source =>
  typeof stream === 'object' && stream !== null && 'push' in stream && typeof stream.push === 'function'

/**
 * Changes the options with which a client connects the next time.
 *
 * Missing in public: credentials for the next attempt alone. mqtt.js reads its options anew for every CONNECT.
 */
export const changeOptions = (
  { options }: Pick<MqttClient, 'options'>,
  changed: { readonly [K in keyof IClientOptions]: IClientOptions[K] | undefined },
): IClientOptions => Object.assign(options, changed)

/**
 * Filters for SUBSCRIBE, of which a packet is sent in any case. `rap`: messages say whether they are retained from now on,
 * and not only those that were before (MQTT 5.0, section 3.8.3.1).
 *
 * Missing in public: subscribing again. Without this flag mqtt.js answers by itself for a filter it subscribed before.
 */
export const subscribedAnew = (
  filters: readonly string[],
  rap: boolean,
): Record<string, { qos: 1; rap: boolean }> & { resubscribe: boolean } =>
  Object.assign(Object.fromEntries(filters.map(filter => [filter, { qos: 1 as const, rap }])), { resubscribe: true })

/**
 * Whether mqtt.js waits for the acknowledgement of a packet.
 *
 * Missing in public: packet ids that are in use. Its provider hands them out again after 65,535 others.
 */
export const isOutgoing = ({ outgoing }: MqttJsClient, packetId: number): boolean => outgoing[packetId] !== undefined
