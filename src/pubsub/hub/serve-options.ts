import { checkFunction, checkHas, checkObject, checkOptionNames } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
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
import { warnProcess } from '../../node/net/anonymous-warning.js'
import type { GivenServer } from '../../node/net/http.js'
import { checkOrigins } from '../../node/net/origins.js'
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

const milliseconds = (expected: string, isFit: (value: number) => boolean): OptionKind<number> => ({
  ...count,
  expected,
  is: (value): value is number => typeof value === 'number' && Number.isFinite(value) && isFit(value),
})

const matching = (sign: string, expected: string, pattern: RegExp): OptionKind<string> => ({
  ...text(sign),
  expected,
  is: (value): value is string => typeof value === 'string' && pattern.test(value),
})

/** Those of {@link ServePubSubOptions} that are plain values: what they may be, and are without. */
const PLAIN = {
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

/** Options with nothing missing. */
export interface CheckedServeOptions extends OptionDefaults<typeof PLAIN> {
  readonly authenticate: Authenticate
  readonly allowAnonymous: boolean
  readonly allowedOrigins: readonly string[]
  readonly hubs: readonly string[] | undefined
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
  checkValues(PLAIN, options)
  const plain = withDefaults(PLAIN, options)
  const { authenticate, hubs, server, tls, allowedOrigins = [], clock = systemClock, warn = warnProcess } = options
  checkFunction('warn', warn)
  if (tls !== undefined) checkTls(tls)
  checkAuthenticate(authenticate)
  checkOrigins(allowedOrigins)
  const { allowAnonymous = server !== undefined || isThisMachine(plain.host) } = options
  if (authenticate === 'anonymous' && !allowAnonymous)
    throw new ArgumentError(
      `Everybody who reaches ${plain.host} could do everything: say who may, or \`allowAnonymous: true\``,
    )
  if (server !== undefined) checkHas('server', server, ['on', 'off', 'address', 'rawListeners'])
  check('hubs', hubs, 'an array of names', hubs === undefined || Array.isArray(hubs))
  for (const hub of hubs ?? []) checkHub(hub)
  checkHas('clock', clock, ['now', 'monotonic', 'schedule'])
  const publicUrl = publicUrlOf(options)
  const given = { authenticate, allowAnonymous, allowedOrigins, hubs, tls, server, publicUrl, warn, clock }
  const checked = { ...plain, ...given }
  checkOptionNames('servePubSub', options, checked)
  return checked
}

function publicUrlOf({ publicUrl }: ServePubSubOptions): string | undefined {
  if (publicUrl === undefined) return undefined
  const url = URL.canParse(publicUrl) ? new URL(publicUrl) : undefined
  const fits = url !== undefined && ['ws:', 'wss:'].includes(url.protocol) && url.pathname === '/' && url.search === ''
  check('publicUrl', publicUrl, 'an address such as wss://panel.example, without a path', fits)
  return `${url?.protocol}//${url?.host}`
}

function check(name: string, value: unknown, expected: string, holds: boolean): void {
  if (holds) return
  throw new ArgumentError(`Expected \`${name}\` to be ${expected}, got \`${formatValue(value)}\` (${typeof value})`)
}
