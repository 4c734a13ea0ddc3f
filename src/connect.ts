import type { MqttClient } from 'mqtt'
import { type BackoffOptions, randomBytes } from './backoff.js'
import { toHex } from './bytes.js'
import { StateStore } from './client.js'
import { type Clock, systemClock } from './clock.js'
import { ArgumentError, reason } from './errors.js'
import { checkPositiveInteger } from './keys/options.js'
import type { Credentials } from './mqtt/mqttjs-options.js'
import { openSession, shareSession } from './mqtt/mqttjs-session.js'
import { backingOff, type ReconnectStrategy } from './mqtt/reconnect.js'

/** Options of {@link connect} that do not depend on who owns the connection. */
export interface ClientOptions {
  /** ms until a request has failed. Default 10,000. */
  readonly timeout?: number
  /** Most requests held at a time, waiting or unanswered; one more fails with `overflow`. Default 65,536. */
  readonly queueLimit?: number
  /** ms a watch outlives its last subscriber, so that a flapping view does not register again and again. Default 0. */
  readonly stopDelay?: number
  /** Clock of timeouts and timestamps. Default the machine's. */
  readonly clock?: Clock
}

/** Options of {@link connect} for a connection of its own. */
export interface ConnectOptions extends ClientOptions {
  /** MQTT client id. Default a random one. Two clients with the same id end each other's connection. */
  readonly clientId?: string
  readonly username?: string
  readonly password?: string
  /** PEM texts for TLS: certificate authority, client certificate, its key and the key's passphrase. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly keyPassphrase?: string
  /** ms of silence after which a half-open connection is found out. Default 30,000. */
  readonly keepAlive?: number
  /** ms the broker keeps the session of a lost connection, so that answers on their way arrive. Default an hour. */
  readonly sessionExpiry?: number
  /** Discard a session that an earlier process with this client id left at the broker. Default `false`. */
  readonly cleanStart?: boolean
  /** ms until an attempt to connect has failed. Default 10,000. */
  readonly connectTimeout?: number
  /** Pauses between attempts to connect. Default 100 ms, doubled up to 30 s, with jitter. */
  readonly reconnect?: BackoffOptions
  /** Decides about the next attempt instead: ms to wait, or `false` to give up, which ends the client with the cause. */
  readonly reconnectStrategy?: ReconnectStrategy
  /** MQTT 5 enhanced authentication, such as `{ method: 'K8S-SAT', data }`. */
  readonly authentication?: { readonly method: string; readonly data: Uint8Array }
  /** Asked for user name, password and authentication before every attempt, as tokens expire. Failing, it is asked again later. */
  readonly credentials?: () => Credentials | Promise<Credentials>
}

/**
 * Connects to a state store: by URL (`mqtt:`, `mqtts:`, `ws:`, `wss:`), by options with a `url`, or over an
 * `MqttClient` of yours, which must speak MQTT 5, serves one state store at a time and is never closed by us.
 *
 * Returns at once; requests and watches wait for the connection. Throws `argument` for wrong options.
 *
 * @example
 * ```ts
 * await using store = connect('mqtt://localhost:1883', { clientId: 'panel-7' })
 * store.key('thermostat1\\setPoint', number).value$.subscribe(console.log)
 * ```
 */
export function connect(url: string, options?: ConnectOptions): StateStore
export function connect(client: MqttClient, options?: ClientOptions): StateStore
export function connect(options: ConnectOptions & { readonly url: string }): StateStore
export function connect(
  target: string | MqttClient | (ConnectOptions & { readonly url: string }),
  options: ConnectOptions = {},
): StateStore {
  if (typeof target === 'string') return connectTo(target, options)
  if (typeof target !== 'object' || target === null) {
    throw new ArgumentError(`Expected a broker URL, an MqttClient or options with a \`url\`, got \`${String(target)}\``)
  }
  if ('publish' in target)
    return new StateStore(shareSession(target, options.clock ?? systemClock), settingsOf(options))
  return connectTo(target.url, target)
}

function connectTo(url: string, options: ConnectOptions): StateStore {
  checkUrl(url)
  const { clientId = randomId(), reconnect = {}, clock = systemClock } = options
  checkClientId(clientId)
  const settings = settingsOf(options)
  const { keepAlive = 30_000, sessionExpiry = 3_600_000, connectTimeout = 10_000, cleanStart = false } = options
  const session = { ...options, url, clientId, keepAlive, sessionExpiry, connectTimeout, cleanStart }
  try {
    const strategy = options.reconnectStrategy ?? backingOff(reconnect)
    return new StateStore(openSession(session, { strategy, credentials: options.credentials }, clock), settings)
  } catch (cause) {
    // Certificates and keys are read here.
    throw new ArgumentError(`Cannot connect to ${url} with these options: ${reason(cause)}`, { cause })
  }
}

function settingsOf({ timeout = 10_000, queueLimit = 65_536, stopDelay = 0, clock = systemClock }: ClientOptions) {
  checkPositiveInteger('timeout', timeout)
  checkPositiveInteger('queueLimit', queueLimit)
  if (stopDelay !== 0) checkPositiveInteger('stopDelay', stopDelay)
  return { timeout, queueLimit, stopDelay, clock }
}

function checkUrl(url: string): void {
  const { protocol, hostname } =
    typeof url === 'string' && URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  if (hostname !== '' && ['mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:', 'ssl:', 'tls:'].includes(protocol)) return
  throw new ArgumentError(
    `Expected a broker URL such as mqtt://localhost:1883 or ws://localhost:8083, got \`${String(url)}\``,
  )
}

// The id is part of topic names, where wildcards and NUL are not allowed (MQTT 5.0, section 4.7).
function checkClientId(clientId: string): void {
  if (typeof clientId === 'string' && /^[^+#\0]+$/.test(clientId)) return
  throw new ArgumentError(`Expected \`clientId\` to be a text without +, # and NUL, got \`${String(clientId)}\``)
}

const randomId = (): string => `rx-statestore-${toHex(randomBytes(8)).toLowerCase()}`
