import type { BackoffOptions } from '../../core/util/backoff.js'
import { checkFunction, checkHas, checkObject, checkOptionNames, checkPositiveInteger } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, formatValue } from '../../core/util/errors.js'
import type { ClientCodec, DownFrame, FrameData, JsonWriter, UnknownFrame, UpFrame } from '../wire/frames.js'
import { jsonClientCodec } from '../wire/json-client-codec.js'
import { isWebSocketUrl } from './client-link.js'
import type { UrlSource } from './driver.js'
import type { ReconnectStrategy } from './events.js'
import { PubSubClient } from './pubsub-client.js'
import { pausesOf } from './reconnect-schedule.js'
import { openWebSocket } from './ws-socket.js'

/** Options of {@link connectPubSub}. Times in ms. */
export interface PubSubOptions {
  /** What the frames are written in: `json.reliable.webpubsub.azure.v1` or `protobuf.reliable.webpubsub.azure.v1`. Default `json`. */
  readonly protocol?: 'json' | 'protobuf' | undefined
  /** ms a lost session is tried to be recovered. Default 60,000; hubs keep a session for at least 30 s. */
  readonly recoveryWindow?: number | undefined
  /** ms until an attempt to connect has failed: fresh URL, handshake and first frame together. Default 10,000. */
  readonly connectTimeout?: number | undefined
  /** ms of silence after which a half-open connection is found out; after half of it the hub is asked for a sign of life. Default 40,000. */
  readonly keepAlive?: number | undefined
  /** ms until a send has failed, outages included. Default: 30 s longer than the recovery window, 90,000. */
  readonly timeout?: number | undefined
  /** Most sends held at a time, waiting or not acknowledged; one more fails with `overflow`, and so does what makes more than 64 MiB together. Default 10,000. */
  readonly maxQueued?: number | undefined
  /** How often a send is tried again that the hub answers with `InternalServerError`. Default 3. */
  readonly retries?: number | undefined
  /**
   * Pauses between attempts, to connect, to recover and to send again. Default 100 ms, doubled up to 30 s, with jitter.
   * Those of a recovery grow to 2 s at most, for the hub does not keep the session for long.
   */
  readonly reconnect?: BackoffOptions | undefined
  /** Decides about the next new connection instead: ms to wait, or `false` to give up, which ends the client with the cause. */
  readonly reconnectStrategy?: ReconnectStrategy | undefined
  /** Clock of all of this. Default the machine's. */
  readonly clock?: Clock | undefined
}

/**
 * Connects to a hub of Azure Web PubSub, or to one that speaks like it. With a URL that holds an access token give a
 * function: it is asked for a fresh one for every new session, and never for a recovery, which needs none.
 *
 * Returns at once; sends and joins wait for the connection. Throws `argument` for wrong options.
 *
 * @example
 * ```ts
 * await using client = connectPubSub(() => fetch('/negotiate').then(response => response.text()))
 * const line = client.group('line-1')
 * line.messages$.subscribe(({ data, fromUserId }) => console.log(fromUserId, data))
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
  const pauses = pausesOf(reconnect)
  // At once for a session that held, like the first attempt to recover one.
  const { reconnectStrategy = attempt => (attempt === 1 ? 0 : pauses.pause(attempt - 1)) } = options
  const numbers = { recoveryWindow, connectTimeout, keepAlive, timeout, maxQueued }
  const known = { ...numbers, protocol, retries, reconnect, reconnectStrategy, clock }
  checkOptionNames('connectPubSub', options, known)
  for (const [name, value] of Object.entries(numbers)) checkPositiveInteger(name, value)
  if (retries !== 0) checkPositiveInteger('retries', retries)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  checkFunction('reconnectStrategy', reconnectStrategy)
  const behaviour = { ...numbers, ...pauses, retries, reconnectStrategy, clock, openSocket: openWebSocket }
  if (protocol === 'json') return new PubSubClient({ ...behaviour, url, codec: jsonClientCodec })
  if (protocol !== 'protobuf') {
    throw new ArgumentError(`Expected \`protocol\` to be 'json' or 'protobuf', got \`${formatValue(protocol)}\``)
  }
  const codec = new LateCodec('protobuf.reliable.webpubsub.azure.v1', loadProtobuf)
  const ready = (): Promise<void> => codec.load()
  return new PubSubClient({ ...behaviour, url: () => ready().then(() => resolve(url)), codec, ready })
}

// Half as much again as all the rest, and most do not need it.
const loadProtobuf = () => import('../wire/protobuf-client-codec.js').then(module => module.protobufClientCodec)

const resolve = (url: UrlSource): string | Promise<string> => (typeof url === 'function' ? url() : url)

function checkUrl(url: UrlSource): void {
  if (typeof url === 'function' || isWebSocketUrl(url)) return
  throw new ArgumentError(
    `Expected a URL such as wss://example.webpubsub.azure.com/client/hubs/hub, or a function, got \`${formatValue(url)}\``,
  )
}

function checkBackoff(backoff: BackoffOptions): void {
  checkOptionNames('connectPubSub, in `reconnect`', backoff, { initial: true, max: true, random: true })
  const { initial, max } = backoff
  if (initial !== undefined) checkPositiveInteger('reconnect.initial', initial)
  if (max !== undefined) checkPositiveInteger('reconnect.max', max)
}

/**
 * A codec that is loaded on demand, so that clients that speak another subprotocol need not download it.
 *
 * @example
 * ```ts
 * const codec = new LateCodec('protobuf.reliable.webpubsub.azure.v1', () => import('./codec.js').then(({ codec }) => codec))
 * await codec.load()
 * ```
 */
export class LateCodec implements ClientCodec {
  readonly subprotocol: string
  readonly #fetch: () => Promise<ClientCodec>
  #codec: ClientCodec | undefined

  constructor(subprotocol: string, fetch: () => Promise<ClientCodec>) {
    this.subprotocol = subprotocol
    this.#fetch = fetch
  }

  /** Resolves when frames can be encoded and decoded; one that fails may be tried again. */
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
