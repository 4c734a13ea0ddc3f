import type { IClientOptions } from 'mqtt'
import { otherIds } from './publisher.js'

/** MQTT 5 enhanced authentication (MQTT 5.0, section 4.12). */
export interface Authentication {
  /** Such as `K8S-SAT`. */
  readonly method: string
  readonly data: Uint8Array
  /**
   * When it counts no more, ms since the Unix epoch; fresh credentials are asked for before, and sent over the same
   * connection. Default never: then they are for the next connection alone.
   */
  readonly expiresAt?: number | undefined
}

/** Who connects; what is missing is not sent. */
export interface Credentials {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** Such as `{ method: 'K8S-SAT', data: token }`. */
  readonly authentication?: Authentication | undefined
}

/** How to reach a broker; times in ms. */
export interface MqttConnectOptions extends Credentials {
  /** At least one; see {@link Route}. */
  readonly urls: readonly string[]
  /** Whether a broker may send us to any other, and not only to those of `urls`. */
  readonly followReferences?: boolean | undefined
  readonly clientId: string
  /** PEM texts for TLS. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly keyPassphrase?: string | undefined
  readonly keepAlive: number
  /** Keep alive by timers, in a page as well, where it is done from a worker otherwise. */
  readonly nativeTimers?: boolean | undefined
  readonly sessionExpiry: number
  readonly cleanStart: boolean
  readonly connectTimeout: number
  /** Largest packet the broker may send, bytes. */
  readonly maximumPacketSize: number
  /** How many messages may come before the first of them is acknowledged; default as many as MQTT can count. */
  readonly receiveMaximum?: number | undefined
  readonly will?: Will | undefined
  /** Whether messages say also that they are retained from now on (MQTT 5.0, section 3.8.3.1, Retain As Published). Default `false`. */
  readonly asPublished?: boolean | undefined
}

/** What the broker publishes, retained, when the connection has been gone for a while. */
export interface Will {
  readonly topic: string
  readonly payload: string
  /** s */
  readonly delay: number
}

/** The options for mqtt.js. We connect, reconnect and subscribe ourselves, in the order the state store needs. */
export function toClientOptions(options: MqttConnectOptions, url: string): IClientOptions {
  const wanted = {
    clientId: options.clientId,
    ca: options.ca,
    cert: options.cert,
    key: options.key,
    passphrase: options.keyPassphrase,
    clean: options.cleanStart,
    keepalive: Math.ceil(options.keepAlive / 1000),
    // Of Node's WebSockets, where a whole message is read before its packets are; some brokers put several into one.
    wsOptions: { maxPayload: 2 * options.maximumPacketSize },
    timerVariant: options.nativeTimers ? 'native' : undefined,
    connectTimeout: options.connectTimeout,
    protocolVersion: 5,
    manualConnect: true,
    reconnectPeriod: 0,
    resubscribe: false,
    messageIdProvider: otherIds(),
    // The largest number means for ever (MQTT 5.0, section 3.1.2.11.2).
    properties: {
      sessionExpiryInterval: Math.min(Math.ceil(options.sessionExpiry / 1000), 2 ** 32 - 1),
      maximumPacketSize: options.maximumPacketSize,
      ...(options.receiveMaximum !== undefined && { receiveMaximum: options.receiveMaximum }),
    },
    will: options.will && willOf(options.will),
  }
  return withCredentials({ ...withoutUndefined(wanted), ...addressOf(url) }, options)
}

const willOf = ({ topic, payload, delay }: Will): NonNullable<IClientOptions['will']> => ({
  topic,
  payload,
  qos: 1,
  retain: true,
  properties: { willDelayInterval: delay },
})

// mqtt.js takes the brackets off an IPv6 address, and builds the address of a WebSocket without them.
function addressOf(url: string): IClientOptions {
  const { host, pathname, search } = new URL(url)
  if (!host.startsWith('[')) return {}
  return { transformWsUrl: (_url, { protocol }) => `${protocol}://${host}${pathname}${search}` }
}

/** Options with the credentials for the next attempt, whatever they had before. */
export function withCredentials(options: IClientOptions, credentials: Credentials): IClientOptions {
  const { username, password, authentication } = credentials
  const { authenticationMethod: _method, authenticationData: _data, ...properties } = options.properties ?? {}
  const secrets = authentication && {
    authenticationMethod: authentication.method,
    authenticationData: authentication.data,
  }
  return Object.assign({ ...options }, withoutUndefined({ username, password }), {
    properties: { ...properties, ...secrets },
  })
}

// mqtt.js reads an option that is there but undefined as a wish.
const withoutUndefined = (options: object): IClientOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
