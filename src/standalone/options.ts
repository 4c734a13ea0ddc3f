import { checkPositiveInteger } from '../base/check.js'
import { type Clock, systemClock } from '../base/clock.js'
import { ArgumentError, shown } from '../base/errors.js'
import { checkOptionNames } from '../base/option-names.js'
import type { SharedLog } from '../cluster/shared-log.js'
import { checkOrigins } from '../listeners/origins.js'
import type { Dialect } from '../protocol/replies.js'
import { checkQuotas, type QuotaOptions } from './quotas.js'
import { checkSecurity, type SecurityOptions } from './security.js'

/** Options of {@link serve}. */
export interface ServeOptions extends SecurityOptions, QuotaOptions {
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
  /**
   * Directory in which all is kept, for this store alone; it is made if need be. A write is answered when it has been
   * flushed to the disk, and a start reads back what was answered. Default: none, all is lost with the process.
   */
  readonly data?: string
  /**
   * With `data`, which keys are there after a restart: `all` (default), `none`, or `keys`: those of {@link persistKeys}, and
   * those that were set with the user property `aio-persistence: true`.
   */
  readonly persist?: 'all' | 'none' | 'keys'
  /** Globs of keys as for a scan, with `persist: 'keys'`. Default none. */
  readonly persistKeys?: readonly string[]
  /**
   * A log that several nodes of one store share, in place of `data`: `jetStreamLog` of `rx-statestore/jetstream` makes one.
   * Then this store is a node: it has the keys of all, and answers a write when a quorum has it. Default: none.
   */
  readonly log?: SharedLog | undefined
  /** Hears how far the reading of `data` has come, in bytes, or of `log`, in entries, over and over while it opens. */
  readonly opening?: (progress: OpeningProgress) => void
}

/** How far the reading of a directory has come, bytes, or that of a log, entries. */
export interface OpeningProgress {
  readonly read: number
  readonly of: number
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

/** Throws {@link ArgumentError} unless the value is one of the choices. */
export function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  throw new ArgumentError(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${shown(value)}\``)
}

/** Throws {@link ArgumentError} unless a log is one, and the only place for what is kept. */
export function checkLog(
  log: SharedLog | undefined,
  options: Pick<ServeOptions, 'data' | 'persist' | 'persistKeys'>,
): void {
  if (log === undefined) return
  if (typeof log !== 'object' || log === null || typeof log.connect !== 'function')
    throw new ArgumentError(`Expected \`log\` to be a log such as that of \`jetStreamLog\`, got \`${shown(log)}\``)
  const other = (['data', 'persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (other !== undefined) throw new ArgumentError(`Expected \`log\` or \`${other}\`, got both`)
}

/** Throws {@link ArgumentError} unless there is a directory where options need one. */
export function checkData(data: string, options: Pick<ServeOptions, 'data' | 'persist' | 'persistKeys'>): void {
  if (typeof data !== 'string' || (options.data !== undefined && data === '')) {
    throw new ArgumentError(`Expected \`data\` to be the name of a directory, got \`${shown(data)}\``)
  }
  const idle = (['persist', 'persistKeys'] as const).find(name => options[name] !== undefined)
  if (data === '' && idle !== undefined) throw new ArgumentError(`Expected \`data\` beside \`${idle}\`, got none`)
}

/** Throws {@link ArgumentError} unless patterns go with what is kept. */
export function checkPatterns(patterns: readonly string[], persist: string): void {
  if (!Array.isArray(patterns) || !patterns.every(pattern => typeof pattern === 'string')) {
    throw new ArgumentError(`Expected \`persistKeys\` to be a list of globs, got \`${shown(patterns)}\``)
  }
  if (patterns.length > 0 && persist !== 'keys') {
    throw new ArgumentError(`Expected \`persist\` to be \`keys\` beside \`persistKeys\`, got \`${persist}\``)
  }
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
