import { checkHas, checkObject } from '../../base/check.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { ArgumentError, shown } from '../../base/errors.js'
import { checkTls, type TlsMaterial } from '../../tls/tls.js'
import { checkHub } from '../wire/names.js'
import { type Authenticate, checkAuthenticate } from './authenticate.js'

/** Options of `servePubSub`. */
export interface ServePubSubOptions {
  /** Who may connect; see {@link Authenticate}. */
  readonly authenticate: Authenticate
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
   * Most bytes that wait for all clients together: messages not acknowledged, counted once however many get them, and
   * events not answered. Beyond that sessions are ended, those first that most waits for. Default 256 MiB.
   */
  readonly maxWaitingBytes?: number | undefined
  /** Listens with TLS 1.2 or later. Its `clientCa` does not count: access tokens do. Default: without. */
  readonly tls?: TlsMaterial | undefined
  /** Default the machine's. */
  readonly clock?: Clock | undefined
}

/** Options with nothing missing. */
export interface CheckedServeOptions {
  readonly authenticate: Authenticate
  readonly host: string
  readonly port: number
  readonly path: string
  readonly hubs: readonly string[] | undefined
  readonly retention: number
  readonly idleTimeout: number
  readonly maxConnections: number
  readonly maxWaitingBytes: number
  readonly tls: TlsMaterial | undefined
  readonly clock: Clock
}

/** Fills in what is missing. Throws {@link ArgumentError} for what is wrong. */
export function checkServeOptions(options: ServePubSubOptions): CheckedServeOptions {
  checkObject('options', options)
  const { authenticate, host = '127.0.0.1', port = 8080, path = '/client', hubs, clock = systemClock } = options
  const { retention = 60_000, idleTimeout = 120_000, maxConnections = 10_000 } = options
  const { maxWaitingBytes = 256 * 1024 * 1024, tls } = options
  if (tls !== undefined) checkTls(tls)
  checkAuthenticate(authenticate)
  check('host', host, 'an address such as 127.0.0.1', typeof host === 'string' && host !== '')
  check('port', port, 'a port number from 0 to 65535', Number.isInteger(port) && port >= 0 && port <= 65_535)
  check('path', path, 'a path such as /client', /^(\/[\w.~-]+)+$/.test(path))
  check('retention', retention, 'a number of ms, 0 or more', Number.isFinite(retention) && retention >= 0)
  check('idleTimeout', idleTimeout, 'a positive number of ms', Number.isFinite(idleTimeout) && idleTimeout > 0)
  check('maxConnections', maxConnections, 'a positive integer', isPositiveInteger(maxConnections))
  check('maxWaitingBytes', maxWaitingBytes, 'a positive integer', isPositiveInteger(maxWaitingBytes))
  check('hubs', hubs, 'an array of names', hubs === undefined || Array.isArray(hubs))
  for (const hub of hubs ?? []) checkHub(hub)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  return { authenticate, host, port, path, hubs, retention, idleTimeout, maxConnections, maxWaitingBytes, tls, clock }
}

const isPositiveInteger = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0

function check(name: string, value: unknown, expected: string, holds: boolean): void {
  if (holds) return
  throw new ArgumentError(`Expected \`${name}\` to be ${expected}, got \`${shown(value)}\` (${typeof value})`)
}
