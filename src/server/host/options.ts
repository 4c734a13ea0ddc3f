import type { Dialect } from '../../core/protocol/replies.js'
import { checkChoice, checkOptionNames, checkPositiveInteger } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, shown } from '../../core/util/errors.js'
import { checkOrigins } from '../../node/net/origins.js'
import { checkData, checkLog, checkPatterns, type StorageOptions } from '../storage/storage-options.js'
import { checkQuotas, type QuotaOptions } from './quotas.js'
import { checkSecurity, type SecurityOptions } from './security.js'

/** Options of {@link serve}. */
export interface ServeOptions extends SecurityOptions, QuotaOptions, StorageOptions {
  /** Address to listen on. Default `127.0.0.1`: this machine only. */
  readonly host?: string
  /** TCP port, 0 for any free one. Default 1883. */
  readonly port?: number
  /** WebSocket port, 0 for any free one. Default 8083. */
  readonly wsPort?: number
  /** Spelling where the documents and the field differ. Default `field`. */
  readonly dialect?: Dialect
  /**
   * Who gets notifications: `registered` (default, as in the field) every connection that sent KEYNOTIFY; `subscribed`
   * only those that subscribed to their notification topic too, as the documents ask for.
   */
  readonly notifications?: 'registered' | 'subscribed'
  /** Largest packet a client may send, bytes; it limits the size of values. Default 16 MiB. */
  readonly maximumPacketSize?: number
  /** Longest keep-alive of a client, s; it is told. Default 0: as each client likes. */
  readonly maximumKeepAlive?: number
  /**
   * Origins whose pages may connect over WebSocket, such as `https://panel.example`, beside pages of this machine and of
   * the host itself. Programs other than browsers always may. Default none.
   */
  readonly allowedOrigins?: readonly string[]
  /**
   * Whether a proxy on this machine stands before the WebSocket port: then a client has the address that the proxy adds last
   * to `X-Forwarded-For`, for rates, failed logins and the record. Default `false`.
   */
  readonly proxied?: boolean
  /** Clock of versions and expiry. Default the machine's. */
  readonly clock?: Clock
}

const DEFAULT_PACKET_SIZE = 16 * 1024 * 1024
/** MQTT 5.0, section 3.1.2.10, s. */
const LONGEST_KEEP_ALIVE = 65_535
/** What MQTT can count: a variable byte integer (MQTT 5.0, section 1.5.5) and the header before it, bytes. */
const LARGEST_PACKET_SIZE = 268_435_460

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkOptions(options: ServeOptions): Required<ServeOptions> {
  const { host = '127.0.0.1', port = 1883, wsPort = 8083, clock = systemClock, dialect = 'field' } = options
  const { maximumPacketSize = DEFAULT_PACKET_SIZE } = options
  const { notifications = 'registered' } = options
  const { data = '', persist = 'all', persistKeys = [], opening = () => undefined, log } = options
  const { maximumKeepAlive = 0, allowedOrigins = [], proxied = false } = options
  checkPort('port', port)
  checkPort('wsPort', wsPort)
  checkPositiveInteger('maximumPacketSize', maximumPacketSize)
  if (maximumPacketSize > LARGEST_PACKET_SIZE) {
    throw new ArgumentError(
      `Expected \`maximumPacketSize\` to be at most ${LARGEST_PACKET_SIZE}, got \`${maximumPacketSize}\``,
    )
  }
  checkChoice('dialect', dialect, ['field', 'documented'])
  checkChoice('notifications', notifications, ['registered', 'subscribed'])
  checkKeepAlive(maximumKeepAlive)
  checkOrigins(allowedOrigins)
  if (typeof proxied !== 'boolean')
    throw new ArgumentError(`Expected \`proxied\` to be true or false, got \`${shown(proxied)}\``)
  checkLog(log, options)
  checkData(data, options)
  checkChoice('persist', persist, ['all', 'none', 'keys'])
  checkPatterns(persistKeys, persist)
  const bounds = { maximumPacketSize, maximumKeepAlive, ...checkQuotas(options) }
  const storage = { data, persist, persistKeys, log, opening }
  const security = checkSecurity(options, host)
  const checked = {
    host,
    port,
    wsPort,
    clock,
    dialect,
    notifications,
    allowedOrigins,
    proxied,
    ...bounds,
    ...storage,
    ...security,
  }
  checkOptionNames('serve', options, checked)
  return checked
}

function checkPort(name: string, port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return
  throw new ArgumentError(`Expected \`${name}\` to be a port number from 0 to 65535, got \`${port}\` (${typeof port})`)
}

function checkKeepAlive(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= LONGEST_KEEP_ALIVE) return
  throw new ArgumentError(
    `Expected \`maximumKeepAlive\` to be a whole number of seconds from 0 to ${LONGEST_KEEP_ALIVE}, got \`${shown(seconds)}\``,
  )
}
