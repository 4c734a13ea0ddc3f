import type { IClientOptions } from 'mqtt'
import { PROPERTY } from '../../core/protocol/properties.js'
import { omitUndefined } from '../../core/util/omit-undefined.js'
import { mqttJsPacketIds } from './packet-ids.js'

/** MQTT 5 enhanced authentication (MQTT 5.0, section 4.12). */
export interface Authentication {
  /** Authentication method, such as `K8S-SAT`. */
  readonly method: string
  readonly data: Uint8Array
  /**
   * When the credentials expire, ms since the Unix epoch. They are renewed before that time over the same connection.
   * Default: never, in which case the credentials are requested only for each connection.
   */
  readonly expiresAt?: number | undefined
}

/** Credentials of a client. Undefined fields are not sent. */
export interface Credentials {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** PEM texts for TLS: certificate authority, client certificate, its key and the key's passphrase. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly keyPassphrase?: string | undefined
  /** Enhanced authentication, such as `{ method: 'K8S-SAT', data: token }`. */
  readonly authentication?: Authentication | undefined
}

/** All times are in ms. */
export interface MqttConnectOptions extends Credentials {
  /** The addresses, at least one; see {@link AddressRouter}. */
  readonly urls: readonly string[]
  readonly followReferences?: boolean | undefined
  readonly clientId: string
  readonly keepAlive: number
  /** Whether to send keep-alives with timers even in a page, where a worker sends them by default. */
  readonly nativeTimers?: boolean | undefined
  readonly sessionExpiry: number
  readonly cleanStart: boolean
  readonly connectTimeout: number
  /** Maximum size of packets from the broker, bytes. */
  readonly maximumPacketSize: number
  /** Maximum number of unacknowledged inbound messages. Default: the maximum of MQTT. */
  readonly receiveMaximum?: number | undefined
  readonly will?: Will | undefined
  /** Whether live messages keep their retain flag (Retain As Published; MQTT 5.0, section 3.8.3.1). Default `false`. */
  readonly retainAsPublished?: boolean | undefined
}

/** A retained message that the broker publishes `delay` seconds after the connection is lost. */
export interface Will {
  readonly topic: string
  readonly payload: string
  readonly delay: number
}

/**
 * Returns the options for mqtt.js. Disables reconnecting and resubscribing, because the session does both, in the order
 * that the state store needs.
 */
export function toClientOptions(options: MqttConnectOptions, url: string): IClientOptions {
  // mqtt.js treats undefined options as set.
  const converted = omitUndefined({
    clientId: options.clientId,
    // mqtt.js would take a client id from the address's query.
    query: {},
    ...tlsOf(options),
    clean: options.cleanStart,
    keepalive: Math.ceil(options.keepAlive / 1000),
    // The WebSockets of Node read a whole message before its packets, and some brokers put several packets into one
    // message.
    wsOptions: { maxPayload: 2 * options.maximumPacketSize },
    timerVariant: options.nativeTimers ? 'native' : undefined,
    connectTimeout: options.connectTimeout,
    protocolVersion: 5,
    manualConnect: true,
    reconnectPeriod: 0,
    resubscribe: false,
    messageIdProvider: mqttJsPacketIds(),
    // The maximum means no expiry (MQTT 5.0, section 3.1.2.11.2).
    properties: {
      sessionExpiryInterval: Math.min(Math.ceil(options.sessionExpiry / 1000), 2 ** 32 - 1),
      maximumPacketSize: options.maximumPacketSize,
      userProperties: { [PROPERTY.storeTime]: '' },
      ...(options.receiveMaximum !== undefined && { receiveMaximum: options.receiveMaximum }),
    },
    will: options.will && willOf(options.will),
  })
  return withCredentials({ ...converted, ...addressOf(url) }, options)
}

const tlsOf = ({ ca, cert, key, keyPassphrase }: Credentials): IClientOptions =>
  omitUndefined({ ca, cert, key, passphrase: keyPassphrase })

/** Changes the certificates and keys of later streams. The WebSockets of mqtt.js keep copies in `wsOptions`. */
export function changeTls(options: IClientOptions, credentials: Credentials): void {
  const tls = tlsOf(credentials)
  Object.assign(options, tls, { wsOptions: { ...options.wsOptions, ...tls } })
}

const willOf = ({ topic, payload, delay }: Will): NonNullable<IClientOptions['will']> => ({
  topic,
  payload,
  qos: 1,
  retain: true,
  properties: { willDelayInterval: delay },
})

// mqtt.js strips the brackets of an IPv6 address and then builds an invalid WebSocket URL.
function addressOf(url: string): IClientOptions {
  const { host, pathname, search } = new URL(url)
  if (!host.startsWith('[')) return {}
  return { transformWsUrl: (_url, { protocol }) => `${protocol}://${host}${pathname}${search}` }
}

/** Returns options with the given credentials. Those that are undefined stay as they are. */
export function withCredentials(options: IClientOptions, credentials: Credentials): IClientOptions {
  const { username, password, authentication } = credentials
  const secrets = authentication && {
    authenticationMethod: authentication.method,
    authenticationData: authentication.data,
  }
  const merged: IClientOptions = Object.assign({ ...options }, omitUndefined({ username, password }), {
    properties: { ...options.properties, ...secrets },
  })
  // MQTT 5 allows a password without a user name (section 3.1.2.9), but mqtt.js does not.
  if (merged.password !== undefined) merged.username ??= ''
  return merged
}
