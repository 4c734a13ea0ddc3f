import type { BackoffOptions } from '../../core/util/backoff.js'
import {
  checkArgument,
  checkFunction,
  checkHas,
  checkObject,
  checkOptionNames,
  checkPositiveInteger,
} from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import type { ClientCodec, DownFrame, FrameData, JsonWriter, UnknownFrame, UpFrame } from '../wire/frames.js'
import { jsonClientCodec } from '../wire/json-client-codec.js'
import { isWebSocketUrl } from './client-link.js'
import type { UrlSource } from './driver.js'
import type { ReconnectStrategy } from './events.js'
import { PubSubClient } from './pubsub-client.js'
import { retryDelays } from './reconnect-schedule.js'
import { webSocketOpener } from './ws-socket.js'

/** The options of {@link connectPubSub}. All times are in ms. */
export interface PubSubOptions {
  /** The subprotocol: `json.reliable.webpubsub.azure.v1` or `protobuf.reliable.webpubsub.azure.v1`. Default: `json`. */
  readonly protocol?: 'json' | 'protobuf' | undefined
  /**
   * The time in ms for which the client tries to recover a lost session. Default: 60,000. Hubs keep a session for at
   * least 30 s.
   */
  readonly recoveryWindow?: number | undefined
  /**
   * The time limit in ms of a connection attempt, which includes fetching the URL, the handshake and the first frame.
   * Default: 10,000.
   */
  readonly connectTimeout?: number | undefined
  /**
   * The silence in ms after which a connection is considered dead. The client probes the hub after half of that time. A
   * message must arrive within this time. Default: 40,000.
   */
  readonly keepAlive?: number | undefined
  /**
   * The time limit in ms of a send, including outages. Default: 90,000, which is 30 s longer than the default recovery
   * window.
   */
  readonly timeout?: number | undefined
  /**
   * The maximum number of sends that are queued or unacknowledged, together at most 64 MiB. Further sends fail with
   * `overflow`. Default: 10,000.
   */
  readonly maxQueued?: number | undefined
  /** The number of retries of a send that the hub rejects with `InternalServerError`. Default: 3. */
  readonly retries?: number | undefined
  /**
   * The backoff between attempts to connect, to recover and to resend. Default: 100 ms, doubled up to 30 s, with
   * jitter. Recovery delays are capped at 2 s, because the hub discards the session soon.
   */
  readonly reconnect?: BackoffOptions | undefined
  /** Decides when to open a new connection. Returns the ms to wait, or `false` to stop the client with the cause. */
  readonly reconnectStrategy?: ReconnectStrategy | undefined
  /** The clock for all timing. Default: the system clock. */
  readonly clock?: Clock | undefined
}

/**
 * Connects to a hub of Azure Web PubSub or to a compatible hub. If the URL contains an access token, pass a function,
 * which is called for a fresh URL for every new session, but not for recoveries, which need no token.
 *
 * Returns immediately. Sends and joins wait for the connection. Throws `argument` for invalid options.
 *
 * @example
 * ```ts
 * await using client = connectPubSub(() =>
 *   fetch('/negotiate').then(response => response.text()),
 * )
 * const line = client.group('line-1')
 * line.messages$.subscribe(({ data, fromUserId }) =>
 *   console.log(fromUserId, data),
 * )
 * line.send({ celsius: 21 }).subscribe()
 * ```
 */
export function connectPubSub(url: UrlSource, options: PubSubOptions = {}): PubSubClient {
  checkUrl(url)
  checkObject('options', options)
  const { protocol = 'json', reconnect = {}, clock = systemClock } = options
  const { recoveryWindow = 60_000, connectTimeout = 10_000, keepAlive = 40_000 } = options
  const { timeout = recoveryWindow + 30_000, maxQueued = 10_000, retries = 3 } = options
  checkBackoff(reconnect)
  const pauses = retryDelays(reconnect)
  // The first reconnect is immediate, as the first recovery is.
  const { reconnectStrategy = attempt => (attempt === 1 ? 0 : pauses.pause(attempt - 1)) } = options
  const counts = { recoveryWindow, connectTimeout, keepAlive, timeout, maxQueued }
  const known = { ...counts, protocol, retries, reconnect, reconnectStrategy, clock }
  checkOptionNames('connectPubSub', options, known)
  for (const [name, value] of Object.entries(counts)) checkPositiveInteger(name, value)
  if (retries !== 0) checkPositiveInteger('retries', retries)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  checkFunction('reconnectStrategy', reconnectStrategy)
  const behaviour = {
    ...counts,
    ...pauses,
    retries,
    reconnectStrategy,
    clock,
    openSocket: webSocketOpener(connectTimeout),
  }
  if (protocol === 'json') return new PubSubClient({ ...behaviour, url, codec: jsonClientCodec })
  checkArgument(protocol === 'protobuf', "`protocol` to be 'json' or 'protobuf'", protocol)
  const codec = new LazyCodec('protobuf.reliable.webpubsub.azure.v1', loadProtobuf)
  const ready = (): Promise<void> => codec.load()
  return new PubSubClient({ ...behaviour, url: () => ready().then(() => resolve(url)), codec, ready })
}

// The codec is loaded on demand, because it is half as large as all other modules and most clients do not need it.
const loadProtobuf = () => import('../wire/protobuf-client-codec.js').then(module => module.protobufClientCodec)

const resolve = (url: UrlSource): string | Promise<string> => (typeof url === 'function' ? url() : url)

function checkUrl(url: UrlSource): void {
  if (typeof url === 'function' || isWebSocketUrl(url)) return
  throw new ArgumentError(
    `Expected a URL such as wss://example.webpubsub.azure.com/client/hubs/hub, or a function, got \`${formatUrl(url)}\``,
  )
}

function checkBackoff(backoff: BackoffOptions): void {
  checkOptionNames('connectPubSub, in `reconnect`', backoff, { initial: true, max: true, random: true })
  const { initial, max } = backoff
  if (initial !== undefined) checkPositiveInteger('reconnect.initial', initial)
  if (max !== undefined) checkPositiveInteger('reconnect.max', max)
}

/**
 * A codec loaded on demand, so that clients of another subprotocol do not have to download it.
 *
 * @example
 * ```ts
 * const codec = new LazyCodec(
 *   'protobuf.reliable.webpubsub.azure.v1',
 *   () => import('./codec.js').then(({ codec }) => codec),
 * )
 * await codec.load()
 * ```
 */
export class LazyCodec implements ClientCodec {
  readonly subprotocol: string
  readonly #fetch: () => Promise<ClientCodec>
  #codec: ClientCodec | undefined

  constructor(subprotocol: string, fetch: () => Promise<ClientCodec>) {
    this.subprotocol = subprotocol
    this.#fetch = fetch
  }

  async load(): Promise<void> {
    this.#codec ??= await this.#fetch()
  }

  encode(frame: UpFrame, jsonOf?: JsonWriter): FrameData {
    return this.#loaded.encode(frame, jsonOf)
  }

  decode(data: FrameData): DownFrame | UnknownFrame {
    return this.#loaded.decode(data)
  }

  get #loaded(): ClientCodec {
    if (this.#codec === undefined) throw new ClosedError(`${this.subprotocol} is not loaded`)
    return this.#codec
  }
}
