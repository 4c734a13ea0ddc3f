import { checkArgument, checkFunction, checkHas, checkObject, checkOptionNames } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import {
  checkValues,
  count,
  type OptionDefaults,
  type OptionEntry,
  type OptionKind,
  port,
  text,
  toggle,
  withDefaults,
} from '../../core/util/options.js'
import { isThisMachine } from '../../node/limits/network.js'
import type { GivenServer } from '../../node/net/http.js'
import { checkOrigins } from '../../node/net/origins.js'
import { warnProcess } from '../../node/net/security-warning.js'
import { checkTls, type TlsMaterial } from '../../node/net/tls.js'
import { checkHub } from '../wire/rules.js'
import { type Authenticate, checkAuthenticate } from './authenticate.js'

const MIB = 1024 * 1024

/** The options of `servePubSub`. */
export interface ServePubSubOptions {
  /** Decides which clients may connect. See {@link Authenticate}. */
  readonly authenticate: Authenticate
  /**
   * Whether to allow `authenticate: 'anonymous'` on addresses other than loopback, which gives other machines full
   * access. Default: `false`, or `true` with a given `server`, which listens on an address of its choice.
   */
  readonly allowAnonymous?: boolean | undefined
  /**
   * The origins of browser pages that may connect, such as `https://panel.example`. Pages of this machine, of the
   * requested host if that is `host` or an address, and of `publicUrl` are always allowed. Clients other than browsers
   * send no origin and are accepted. Default: none.
   */
  readonly allowedOrigins?: readonly string[] | undefined
  /** The address to listen on. Default: `127.0.0.1`, which only this machine can reach. */
  readonly host?: string | undefined
  /** The TCP port. 0 selects a free port. Default: 8080. */
  readonly port?: number | undefined
  /** The prefix of the path. Clients connect to `{path}/hubs/{hub}`. Default: `/client`. */
  readonly path?: string | undefined
  /** The names of the permitted hubs. Default: any name. */
  readonly hubs?: readonly string[] | undefined
  /** The time in ms for which the session of a disconnected client is kept. Default: 60,000. */
  readonly retention?: number | undefined
  /** The silence in ms after which a network connection is closed. Its session is kept. Default: 120,000. */
  readonly idleTimeout?: number | undefined
  /** The maximum number of sessions at all hubs, including those of disconnected clients. Default: 10,000. */
  readonly maxConnections?: number | undefined
  /**
   * The maximum number of bytes kept for all clients: unacknowledged messages, counted once for any number of
   * receivers, unanswered events, and memberships. When it is exceeded, sessions of the heaviest users end. Default:
   * 256 MiB.
   */
  readonly maxWaitingBytes?: number | undefined
  /**
   * The certificate and key for TLS 1.2 or later. `clientCa` is ignored, because clients authenticate with access
   * tokens. Default: no TLS.
   */
  readonly tls?: TlsMaterial | undefined
  /** The maximum number of sessions of one user. Further sessions are refused (503). Default: 1,000. */
  readonly maxConnectionsPerUser?: number | undefined
  /**
   * The maximum number of network connections from one address, unless `server` is given, and of its sessions without a
   * user id. This machine is exempt. Default: 1,000.
   */
  readonly maxConnectionsPerAddress?: number | undefined
  /**
   * The maximum number of frames per second from one user over all its connections, or from one address over its
   * connections without a user id. This machine is exempt from the limit per address. Bursts of up to one second's
   * worth of frames are allowed. Beyond that, the hub reads from the client's connections more slowly. Default: 10,000.
   */
  readonly maxFrameRatePerUser?: number | undefined
  /** The maximum number of bytes per second, applied in the same way as `maxFrameRatePerUser`. Default: 4 MiB. */
  readonly maxByteRatePerUser?: number | undefined
  /**
   * An HTTP server whose WebSocket handshakes below `path` the hub server handles. The HTTP server may start listening
   * later. If set, `host`, `port`, `tls` and `maxConnectionsPerAddress` are ignored. Other requests are left to earlier
   * listeners.
   */
  readonly server?: GivenServer | undefined
  /**
   * The URL under which a proxy makes the server available, such as `wss://panel.example`, without a path. If set, a
   * client's address is taken from `X-Forwarded-For`, as set by a proxy on this machine. Default: the listening
   * address.
   */
  readonly publicUrl?: string | undefined
  /**
   * Called with a warning when `authenticate: 'anonymous'` is reachable from other machines, including through a given
   * `server`. Default: a function that emits a process warning (`process.emitWarning`, code `RX_STATESTORE_SECURITY`). If
   * `warn` throws, `servePubSub` rejects with this error, unless `server` begins to listen later.
   */
  readonly warn?: ((words: string) => void) | undefined
  /** The clock. Default: the system clock. */
  readonly clock?: Clock | undefined
}

const milliseconds = (expected: string, isValid: (value: number) => boolean): OptionKind<number> => ({
  ...count,
  expected,
  is: (value): value is number => typeof value === 'number' && Number.isFinite(value) && isValid(value),
})

const matching = (sign: string, expected: string, pattern: RegExp): OptionKind<string> => ({
  ...text(sign),
  expected,
  is: (value): value is string => typeof value === 'string' && pattern.test(value),
})

const PLAIN_OPTIONS = {
  host: { kind: matching('<address>', 'an address such as 127.0.0.1', /./), default: '127.0.0.1' },
  port: { kind: port, default: 8080 },
  path: { kind: matching('<path>', 'a path such as /client', /^(\/[\w.~-]+)+$/), default: '/client' },
  retention: { kind: milliseconds('a number of ms, 0 or more', ms => ms >= 0), default: 60_000 },
  idleTimeout: { kind: milliseconds('a positive number of ms', ms => ms > 0), default: 120_000 },
  maxConnections: { kind: count, default: 10_000 },
  maxConnectionsPerUser: { kind: count, default: 1_000 },
  maxConnectionsPerAddress: { kind: count, default: 1_000 },
  maxFrameRatePerUser: { kind: count, default: 10_000 },
  maxByteRatePerUser: { kind: count, default: 4 * MIB },
  maxWaitingBytes: { kind: count, default: 256 * MIB },
  allowAnonymous: { kind: toggle },
} satisfies Partial<Record<keyof ServePubSubOptions, OptionEntry<unknown>>>

export interface CheckedServeOptions extends OptionDefaults<typeof PLAIN_OPTIONS> {
  readonly authenticate: Authenticate
  readonly allowAnonymous: boolean
  readonly allowedOrigins: readonly string[]
  readonly hubs: readonly string[] | undefined
  readonly tls: TlsMaterial | undefined
  readonly server: GivenServer | undefined
  /** The public URL without a trailing slash. */
  readonly publicUrl: string | undefined
  readonly warn: (words: string) => void
  readonly clock: Clock
}

export function checkServeOptions(options: ServePubSubOptions): CheckedServeOptions {
  checkObject('options', options)
  checkValues(PLAIN_OPTIONS, options)
  const plain = withDefaults(PLAIN_OPTIONS, options)
  const { authenticate, hubs, server, tls, allowedOrigins = [], clock = systemClock, warn = warnProcess } = options
  checkFunction('warn', warn)
  if (tls !== undefined) checkTls(tls)
  checkAuthenticate(authenticate)
  checkOrigins(allowedOrigins)
  const { allowAnonymous = server !== undefined || isThisMachine(plain.host) } = options
  if (authenticate === 'anonymous' && !allowAnonymous)
    throw new ArgumentError(
      `Anonymous clients on ${plain.host} would have full access: set \`authenticate\`, or \`allowAnonymous: true\``,
    )
  if (server !== undefined) checkHas('server', server, ['on', 'off', 'address', 'rawListeners'])
  check('hubs', hubs, 'an array of names', hubs === undefined || Array.isArray(hubs))
  for (const hub of hubs ?? []) checkHub(hub)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  const publicUrl = checkPublicUrl(options)
  const given = { authenticate, allowAnonymous, allowedOrigins, hubs, tls, server, publicUrl, warn, clock }
  const checked = { ...plain, ...given }
  checkOptionNames('servePubSub', options, checked)
  return checked
}

function checkPublicUrl({ publicUrl }: ServePubSubOptions): string | undefined {
  if (publicUrl === undefined) return undefined
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : undefined
  const isValid =
    url !== undefined && ['ws:', 'wss:'].includes(url.protocol) && url.pathname === '/' && url.search === ''
  check('publicUrl', formatUrl(publicUrl), 'an address such as wss://panel.example, without a path', isValid)
  return `${url?.protocol}//${url?.host}`
}

function check(name: string, value: unknown, expected: string, isValid: boolean): void {
  checkArgument(isValid, `\`${name}\` to be ${expected}`, value)
}
