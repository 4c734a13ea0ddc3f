import type { BackoffOptions } from '../../core/util/backoff.js'
import { isWellFormed, randomBytes, toHex, utf8 } from '../../core/util/bytes.js'
import {
  checkArgument,
  checkFlag,
  checkFunction,
  checkOptionNames,
  checkPositiveInteger,
  type ForeignOptionNames,
  type OptionNames,
} from '../../core/util/check.js'
import { type Clock, clockOf } from '../../core/util/clock.js'
import { ArgumentError, formatValue, reason } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import { backoffStrategy, type ReconnectStrategy } from '../session/connection-manager.js'
import type { MqttJsClient } from '../session/mqttjs-client.js'
import type { Authentication, Credentials } from '../session/mqttjs-options.js'
import { openSession, shareSession } from '../session/open-session.js'
import { StateStore } from './client.js'

const MAX_CLIENT_ID_BYTES = 2_048
const MAX_KEEP_ALIVE_MS = 65_535_000
/**
 * Larger than the packets that a store of this package accepts from a client, because a notification also contains the
 * key.
 */
const DEFAULT_MAX_PACKET_BYTES = 32 * 1024 * 1024
/** The maximum of MQTT: the largest variable byte integer (MQTT 5.0, section 1.5.5) plus the fixed header. */
const MAX_PACKET_BYTES = 268_435_460

/** Options of {@link connect} for owned connections and a caller's `MqttClient`. */
export interface ClientOptions {
  /** Request timeout, ms. Default 10,000. */
  readonly timeout?: number | undefined
  /** Maximum number of pending requests, queued or sent. Further requests fail with `overflow`. Default 65,536. */
  readonly maxQueued?: number | undefined
  /**
   * Time that a watch outlives its last subscriber, ms; 0 for none. A view that returns to a key within this time shows
   * its value at once, and no registration is repeated. Default 1,000.
   */
  readonly stopDelay?: number | undefined
  /**
   * Interval at which each watched key is registered and read again, ms. For a store that is attached to a broker,
   * where registrations or notifications can be lost silently (see `docs/any-broker.md`). Default 0, which means never:
   * a broker of this package loses none.
   */
  readonly verifyEvery?: number | undefined
  /** Clock of timeouts and timestamps. In a page, its tasks run from messages. Default: the system clock. */
  readonly clock?: Clock | undefined
}

/** Options of {@link connect} for a connection that the client owns. */
export interface ConnectOptions extends ClientOptions {
  /** MQTT client id. Default: random. Two clients with the same id end each other's connection. */
  readonly clientId?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** PEM texts for TLS: certificate authority, client certificate, its key and the key's passphrase. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly keyPassphrase?: string | undefined
  /**
   * Keep-alive interval, ms. A half-open connection is detected after up to 1.5 times this interval. Default 30,000.
   */
  readonly keepAlive?: number | undefined
  /**
   * Sends keep-alives with the page's timers instead of a worker: required if the content security policy lacks
   * `worker-src blob:`. Timers are throttled in hidden tabs, so set `keepAlive` to three minutes. Default `false`. Has
   * no effect outside of pages.
   */
  readonly nativeTimers?: boolean | undefined
  /**
   * Time that the broker keeps the session of a lost connection, ms, so that pending responses arrive; `Infinity` for
   * no limit. Default: one hour.
   */
  readonly sessionExpiry?: number | undefined
  /** Discards a session that an earlier process with this client id left at the broker. Default `false`. */
  readonly cleanStart?: boolean | undefined
  /**
   * Timeout in ms of a connection attempt and of a `credentials` call. Default 10,000. With several addresses, the
   * timeout of an attempt is at most 1,500 ms in the first round and doubles in each further round, so that an
   * unresponsive broker does not block the others. Of several IP addresses of a host name, Node gives the first half of
   * the timeout, and less after failed attempts. A larger timeout also applies to the first SUBACK.
   */
  readonly connectTimeout?: number | undefined
  /**
   * Maximum size of packets from the broker, and so of values to read, bytes. The broker receives this limit, and is
   * disconnected if it exceeds the limit. Default 32 MiB, at most 268,435,460.
   */
  readonly maxPacketSize?: number | undefined
  /**
   * Delays between attempts to connect, or between rounds of several addresses. Default 100 ms, doubling up to 5 s, or
   * to 30 s while the broker responds that it is overloaded, with jitter.
   */
  readonly reconnect?: BackoffOptions | undefined
  /**
   * Replaces `reconnect`: returns the delay in ms, or `false` to give up, which closes the client with the cause. Also
   * decides on `connection-refused` if the broker had accepted the login before.
   */
  readonly reconnectStrategy?: ReconnectStrategy | undefined
  /**
   * Follows server references (MQTT 5.0, section 4.11) to any broker, and sends it all credentials. The scheme stays
   * the same. Default `false`: the client follows references only to the given addresses.
   */
  readonly followReferences?: boolean | undefined
  /** MQTT 5 enhanced authentication, such as `{ method: 'K8S-SAT', data }`. */
  readonly authentication?: Authentication | undefined
  /**
   * Returns the user name, password, authentication, certificates and key. Those that it omits keep the value of their
   * option. Called before every attempt to connect, and before an authentication with `expiresAt` expires, to renew it
   * over the same connection (AUTH). If the call fails, or does not settle within `connectTimeout`, it is repeated
   * later. `errors$` reports a failed renewal with `credentials`.
   */
  readonly credentials?: (() => Credentials | Promise<Credentials>) | undefined
}

const CLIENT_NAMES: OptionNames<ClientOptions> = {
  timeout: true,
  maxQueued: true,
  stopDelay: true,
  verifyEvery: true,
  clock: true,
}
const CONNECT_NAMES: OptionNames<ConnectOptions & BrokerAddress> = {
  ...CLIENT_NAMES,
  url: true,
  clientId: true,
  username: true,
  password: true,
  ca: true,
  cert: true,
  key: true,
  keyPassphrase: true,
  keepAlive: true,
  sessionExpiry: true,
  cleanStart: true,
  connectTimeout: true,
  maxPacketSize: true,
  reconnect: true,
  reconnectStrategy: true,
  followReferences: true,
  nativeTimers: true,
  authentication: true,
  credentials: true,
}
const BACKOFF_NAMES: OptionNames<BackoffOptions> = { initial: true, max: true, random: true }
const ALIASES: ForeignOptionNames = {
  keepalive: 'keepAlive',
  clean: 'cleanStart',
  reconnectPeriod: 'reconnect',
  sessionExpiryInterval: 'sessionExpiry',
  user: 'username',
  passphrase: 'keyPassphrase',
}

/**
 * Connects to a state store: by URL (`mqtt:`, `mqtts:`, `ws:`, `wss:`), by options with a `url`, or over your own
 * `MqttClient`, which must use MQTT 5 with a client id, serves one state store at a time and is never closed by this library.
 *
 * Several URLs are brokers that share one store. The client starts with a random one and keeps it while it works. After
 * a lost connection, the client retries that broker once and then tries the others.
 *
 * Returns immediately; requests and watches wait for the connection. Throws `argument` for invalid options, and for an
 * `MqttClient` that already serves an open state store.
 *
 * @example
 * ```ts
 * await using store = connect('mqtt://localhost:1883', {
 *   clientId: 'panel-7',
 * })
 * store.key('thermostat1/setPoint', number).value$.subscribe(console.log)
 * ```
 */
export function connect(client: MqttJsClient, options?: ClientOptions): StateStore
export function connect(options: ConnectOptions & BrokerAddress): StateStore
// This overload is last because compilers explain the last one when none matches.
export function connect(url: string | readonly string[], options?: ConnectOptions): StateStore
export function connect(
  target: string | readonly string[] | MqttJsClient | (ConnectOptions & BrokerAddress),
  options: ConnectOptions = {},
): StateStore {
  if (isUrl(target)) return connectTo(target, options)
  if (typeof target !== 'object' || target === null) {
    throw new ArgumentError(`Expected a broker URL, an MqttClient or options with a \`url\`, got \`${String(target)}\``)
  }
  if ('publish' in target) {
    checkOptionNames('connect with an MqttClient', options, CLIENT_NAMES)
    const settings = settingsOf(options)
    const session = shareSession(target, settings.clock)
    // mqtt.js does not use an id that the broker assigned, which would also change at each connection.
    checkClientId(session.clientId)
    return new StateStore(session, settings)
  }
  return connectTo(target.url, target)
}

function connectTo(target: string | readonly string[], options: ConnectOptions): StateStore {
  const urls = validateUrls(target)
  checkOptionNames('connect', options, CONNECT_NAMES, ALIASES)
  const { clientId = randomId(), reconnect = {} } = options
  checkClientId(clientId)
  const settings = settingsOf(options)
  const { keepAlive = 30_000, sessionExpiry = 3_600_000, connectTimeout = 10_000, cleanStart = false } = options
  checkTimes(keepAlive, sessionExpiry, connectTimeout, reconnect)
  const { maxPacketSize = DEFAULT_MAX_PACKET_BYTES } = options
  checkPacketSize(maxPacketSize)
  const { reconnectStrategy: strategy = backoffStrategy(reconnect), credentials } = options
  checkFunction('reconnectStrategy', strategy)
  if (credentials !== undefined) checkFunction('credentials', credentials)
  checkFlag('followReferences', options.followReferences ?? false)
  const session = openSession(
    {
      ...options,
      urls,
      clientId,
      keepAlive,
      sessionExpiry,
      connectTimeout,
      cleanStart,
      maximumPacketSize: maxPacketSize,
    },
    { strategy, credentials, backoff: reconnect },
    settings.clock,
  )
  try {
    return new StateStore(session, settings)
  } catch (cause) {
    session.close()
    // Some options, such as certificates and keys, are only validated when the session opens.
    const names = urls.map(formatUrl).join(', ')
    throw new ArgumentError(`Cannot connect to ${names} with these options: ${reason(cause)}`, { cause })
  }
}

function settingsOf(options: ClientOptions) {
  const { timeout = 10_000, maxQueued = 65_536, stopDelay = 1_000, verifyEvery = 0 } = options
  checkPositiveInteger('timeout', timeout)
  checkPositiveInteger('maxQueued', maxQueued)
  if (stopDelay !== 0) checkPositiveInteger('stopDelay', stopDelay)
  if (verifyEvery !== 0) checkPositiveInteger('verifyEvery', verifyEvery)
  return { timeout, maxQueued, stopDelay, verifyEvery, clock: clockOf(options.clock) }
}

function checkPacketSize(maxPacketSize: number): void {
  checkPositiveInteger('maxPacketSize', maxPacketSize)
  checkArgument(maxPacketSize <= MAX_PACKET_BYTES, `\`maxPacketSize\` to be at most ${MAX_PACKET_BYTES}`, maxPacketSize)
}

// MQTT limits the keep-alive to 16 bits and the session expiry to 32 bits, both in seconds.
function checkTimes(keepAlive: number, sessionExpiry: number, connectTimeout: number, backoff: BackoffOptions): void {
  checkPositiveInteger('keepAlive', keepAlive)
  checkArgument(keepAlive <= MAX_KEEP_ALIVE_MS, `\`keepAlive\` to be at most ${MAX_KEEP_ALIVE_MS} ms`, keepAlive)
  if (sessionExpiry !== 0 && sessionExpiry !== Number.POSITIVE_INFINITY)
    checkPositiveInteger('sessionExpiry', sessionExpiry)
  checkPositiveInteger('connectTimeout', connectTimeout)
  checkOptionNames('connect, in `reconnect`', backoff, BACKOFF_NAMES)
  const { initial, max } = backoff
  if (initial !== undefined) checkPositiveInteger('reconnect.initial', initial)
  if (max !== undefined) checkPositiveInteger('reconnect.max', max)
}

// The client id is part of topic names, which cannot contain wildcards or NUL (MQTT 5.0, section 4.7) and must have
// room for a key.
function checkClientId(clientId: string): void {
  const isText = typeof clientId === 'string' && isWellFormed(clientId) && /^[^+#\0]+$/.test(clientId)
  if (isText && utf8(clientId).length <= MAX_CLIENT_ID_BYTES) return
  const got = formatValue(clientId).slice(0, 80)
  throw new ArgumentError(
    `Expected \`clientId\` to be a text of 1 to ${MAX_CLIENT_ID_BYTES} bytes without +, #, NUL and lone surrogates, got \`${got}\``,
  )
}

const randomId = (): string => `rx-statestore-${toHex(randomBytes(8)).toLowerCase()}`

/** The number is limited because each address costs an attempt per round and a little memory. */
const MAX_URLS = 32

const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:', 'ssl:', 'tls:']

/** A broker's address. */
export interface BrokerAddress {
  /** A URL, or up to 32 URLs of brokers that share one store. */
  readonly url: string | readonly string[]
}

/** Returns whether the target is meant as an address, even an invalid one. */
export const isUrl = (target: unknown): target is string | readonly string[] =>
  typeof target === 'string' || Array.isArray(target)

/** Returns the URLs as an array. Throws {@link ArgumentError} if one of them is invalid. */
export function validateUrls(target: string | readonly string[]): readonly string[] {
  if (!Array.isArray(target)) return [validateUrl(target)]
  if (target.length >= 1 && target.length <= MAX_URLS) return target.map(validateUrl)
  throw new ArgumentError(`Expected 1 to ${MAX_URLS} broker URLs, got ${target.length}`)
}

function validateUrl(url: unknown): string {
  const text = typeof url === 'string' && URL.canParse(url) ? url : ''
  const { protocol, hostname } = text === '' ? { protocol: '', hostname: '' } : new URL(text)
  // A comma in a host name means that several addresses were given as one text.
  if (hostname !== '' && !hostname.includes(',') && SCHEMES.includes(protocol)) return text
  const hint = String(url).includes(',') ? '; use an array for several' : ''
  throw new ArgumentError(
    `Expected a broker URL such as mqtt://localhost:1883 or ws://localhost:8083${hint}, got \`${formatUrl(url)}\``,
  )
}
