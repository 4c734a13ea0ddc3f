import { checkFunction, checkHas, checkObject, checkOptionNames } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, shown } from '../../core/util/errors.js'
import { isThisMachine } from '../../node/limits/network.js'
import type { GivenServer } from '../../node/net/http.js'
import { checkOrigins } from '../../node/net/origins.js'
import { warnProcess } from '../../node/net/strangers.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import { checkHub } from '../wire/rules.js'
import { type Authenticate, checkAuthenticate } from './authenticate.js'

const MIB = 1024 * 1024

/** Options of `servePubSub`. */
export interface ServePubSubOptions {
  /** Who may connect; see {@link Authenticate}. */
  readonly authenticate: Authenticate
  /**
   * Whether `authenticate: 'anonymous'` may be reached from other machines: everybody there may do everything. Default only
   * at the loopback address; a given `server` listens where it likes.
   */
  readonly allowAnonymous?: boolean | undefined
  /**
   * Origins of pages that may connect from a browser, such as `https://panel.example`, besides those of this machine, of
   * the host that is asked for, if that is `host` or an address, and of `publicUrl`. Programs other than browsers send
   * none, and are let in. Default none.
   */
  readonly allowedOrigins?: readonly string[] | undefined
  /** Address to listen on. Default `127.0.0.1`: this machine only. */
  readonly host?: string | undefined
  /** TCP port, 0 for any free one. Default 8080. */
  readonly port?: number | undefined
  /** Where clients connect: `{path}/hubs/{hub}`. Default `/client`. */
  readonly path?: string | undefined
  /** Names of the hubs there are. Default any. */
  readonly hubs?: readonly string[] | undefined
  /** How long a session is kept for a client that lost its connection, ms. Default 60,000. */
  readonly retention?: number | undefined
  /** A network connection silent for that long is closed, the session kept, ms. Default 120,000. */
  readonly idleTimeout?: number | undefined
  /** Most sessions at all hubs, those without a network connection included. Default 10,000. */
  readonly maxConnections?: number | undefined
  /**
   * Most bytes that are kept for all clients together: messages not acknowledged, counted once however many get them, events
   * not answered, and memberships. Beyond that sessions end, those of the user for whom most is kept. Default 256 MiB.
   */
  readonly maxWaitingBytes?: number | undefined
  /** Listens with TLS 1.2 or later. Its `clientCa` does not count: access tokens do. Default: without. */
  readonly tls?: TlsMaterial | undefined
  /** Most sessions of one user; one more is refused (503). Default 1,000. */
  readonly maxConnectionsPerUser?: number | undefined
  /**
   * Most connections from one address, of a server of our own, and most sessions without a user id; this machine may have any
   * number. Default 1,000.
   */
  readonly maxConnectionsPerAddress?: number | undefined
  /**
   * Frames a second that one user may send with all its connections, or an address with those without a user id, but for
   * this machine. A client that sends more is read more slowly, after a second's worth at once. Default 10,000.
   */
  readonly maxFrameRatePerUser?: number | undefined
  /** Bytes a second, likewise. Default 4 MiB. */
  readonly maxByteRatePerUser?: number | undefined
  /**
   * A server that listens, or will, whose WebSocket handshakes below `path` are ours; then `host`, `port`, `tls` and
   * `maxConnectionsPerAddress` do not count, and the others are for earlier listeners.
   */
  readonly server?: GivenServer | undefined
  /**
   * Where clients find it when a proxy passes requests on, such as `wss://panel.example`, without a path; then the address
   * of a client is what a proxy on this machine says in `X-Forwarded-For`. Default where it listens.
   */
  readonly publicUrl?: string | undefined
  /**
   * Hears in a sentence that `authenticate: 'anonymous'` is reached from other machines, also of a given `server`. Default a
   * warning of the process (`process.emitWarning`, code `RX_STATESTORE_ANONYMOUS`).
   */
  readonly warn?: ((words: string) => void) | undefined
  /** Default the machine's. */
  readonly clock?: Clock | undefined
}

/** Options with nothing missing. */
export interface CheckedServeOptions {
  readonly authenticate: Authenticate
  readonly allowAnonymous: boolean
  readonly allowedOrigins: readonly string[]
  readonly host: string
  readonly port: number
  readonly path: string
  readonly hubs: readonly string[] | undefined
  readonly retention: number
  readonly idleTimeout: number
  readonly maxConnections: number
  readonly maxWaitingBytes: number
  readonly maxConnectionsPerUser: number
  readonly maxConnectionsPerAddress: number
  readonly maxFrameRatePerUser: number
  readonly maxByteRatePerUser: number
  readonly tls: TlsMaterial | undefined
  readonly server: GivenServer | undefined
  /** Without a slash at the end. */
  readonly publicUrl: string | undefined
  readonly warn: (words: string) => void
  readonly clock: Clock
}

/** Fills in what is missing. Throws {@link ArgumentError} for what is wrong. */
export function checkServeOptions(options: ServePubSubOptions): CheckedServeOptions {
  checkObject('options', options)
  const { authenticate, host = '127.0.0.1', port = 8080, path = '/client', hubs, clock = systemClock } = options
  const { retention = 60_000, idleTimeout = 120_000 } = options
  const { tls, warn = warnProcess } = options
  checkFunction('warn', warn)
  if (tls !== undefined) checkTls(tls)
  checkAuthenticate(authenticate)
  check('host', host, 'an address such as 127.0.0.1', typeof host === 'string' && host !== '')
  check('port', port, 'a port number from 0 to 65535', Number.isInteger(port) && port >= 0 && port <= 65_535)
  check('path', path, 'a path such as /client', /^(\/[\w.~-]+)+$/.test(path))
  check('retention', retention, 'a number of ms, 0 or more', Number.isFinite(retention) && retention >= 0)
  check('idleTimeout', idleTimeout, 'a positive number of ms', Number.isFinite(idleTimeout) && idleTimeout > 0)
  const { allowedOrigins = [], allowAnonymous = options.server !== undefined || isThisMachine(host) } = options
  checkOrigins(allowedOrigins)
  check('allowAnonymous', allowAnonymous, 'true or false', typeof allowAnonymous === 'boolean')
  if (authenticate === 'anonymous' && !allowAnonymous)
    throw new ArgumentError(
      `Everybody who reaches ${host} could do everything: say who may, or \`allowAnonymous: true\``,
    )
  const quotas = quotasOf(options)
  const { server } = options
  if (server !== undefined) checkHas('server', server, ['on', 'off', 'address', 'rawListeners'])
  check('hubs', hubs, 'an array of names', hubs === undefined || Array.isArray(hubs))
  for (const hub of hubs ?? []) checkHub(hub)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  const publicUrl = publicUrlOf(options)
  const checked = {
    authenticate,
    allowAnonymous,
    allowedOrigins,
    host,
    port,
    path,
    hubs,
    retention,
    idleTimeout,
    ...quotas,
    tls,
    server,
    publicUrl,
    warn,
    clock,
  }
  checkOptionNames('servePubSub', options, checked)
  return checked
}

function quotasOf(options: ServePubSubOptions) {
  const { maxConnections = 10_000, maxConnectionsPerUser = 1_000, maxConnectionsPerAddress = 1_000 } = options
  const { maxFrameRatePerUser = 10_000, maxByteRatePerUser = 4 * MIB, maxWaitingBytes = 256 * MIB } = options
  const connections = { maxConnections, maxConnectionsPerUser, maxConnectionsPerAddress }
  const quotas = { ...connections, maxFrameRatePerUser, maxByteRatePerUser, maxWaitingBytes }
  for (const [name, value] of Object.entries(quotas)) check(name, value, 'a positive integer', isPositiveInteger(value))
  return quotas
}

function publicUrlOf({ publicUrl }: ServePubSubOptions): string | undefined {
  if (publicUrl === undefined) return undefined
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : undefined
  const fits = url !== undefined && ['ws:', 'wss:'].includes(url.protocol) && url.pathname === '/' && url.search === ''
  check('publicUrl', publicUrl, 'an address such as wss://panel.example, without a path', fits)
  return `${url?.protocol}//${url?.host}`
}

const isPositiveInteger = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0

function check(name: string, value: unknown, expected: string, holds: boolean): void {
  if (holds) return
  throw new ArgumentError(`Expected \`${name}\` to be ${expected}, got \`${shown(value)}\` (${typeof value})`)
}
