import { checkOptionNames, type OptionNames } from '../../core/util/check.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { GivenServer } from '../../node/net/http.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import { type ConsoleStore, isAttached } from './console-store.js'
import type { BrokerLogin } from './contract.js'

/** Options of `ConsoleServer.start`. Times in ms. */
export interface ConsoleOptions {
  readonly host: string
  /** TCP port, 0 for any free one. */
  readonly port: number
  /** What lets one in. Default a random one, another one at each start. */
  readonly token?: string | undefined
  /** What a reset makes of the store; without it there is none. */
  readonly seed: readonly DumpLine[] | undefined
  /** Version of this package. */
  readonly version: string
  /** Clock of the stream. Default the machine's. */
  readonly clock?: Clock | undefined
  /** Where the built page is. */
  readonly page?: URL | undefined
  /** How long a connection may stand still during a request. Default a minute. */
  readonly idleTimeout?: number | undefined
  /** Listens with TLS. Its `clientCa` does not count: the token does. */
  readonly tls?: TlsMaterial | undefined
  /**
   * A server that listens, or will, on which the console is to be below `path`; then it does not listen itself, and `host`,
   * `port`, `tls` and `idleTimeout` do not count. Connections and their number are that server's business.
   */
  readonly server?: GivenServer | undefined
  /** Default `/console` on a given server, else nothing. */
  readonly path?: string | undefined
  /**
   * Where people find it, such as `https://panel.example/console/`, when a proxy passes requests on; then the address of
   * the address of a caller is what a proxy on this machine says in `X-Forwarded-For`.
   */
  readonly publicUrl?: string | undefined
  /**
   * Where browsers find the broker, such as `wss://panel.example/mqtt`, without user name and password, which everybody could
   * read in a header. Default as the store says; an attached store cannot, so that it is needed there.
   */
  readonly brokerUrl?: string | undefined
  /**
   * How the page logs in at the broker. Whoever has the token of the console gets it, so give it to a user who may do no more
   * than those people. Default the user `console` with the token, at a broker of somebody else no user.
   */
  readonly brokerLogin?: BrokerLogin | undefined
}

/** Throws {@link ArgumentError} for a token that can be guessed. */
export function checkToken(token: string | undefined): void {
  if (token === undefined || (typeof token === 'string' && /^[\w-]{32,512}$/.test(token))) return
  // Not the token itself.
  throw new ArgumentError('Expected `token` to have 32 or more letters, digits, `-` and `_`, by chance')
}

/** The path below which a console is, without a slash at the end. Throws {@link ArgumentError}. */
export function pathOf({ path, server }: ConsoleOptions): string {
  const below = path ?? (server === undefined ? '' : '/console')
  if (below === '' || /^(\/[\w.~-]+)+$/.test(below)) return below
  throw new ArgumentError(`Expected \`path\` to be a path such as /console, got \`${formatValue(path)}\``)
}

/** An address that is given. Throws {@link ArgumentError} unless it has one of the protocols. */
export function urlOf(name: string, url: string | undefined, protocols: readonly string[]): URL | undefined {
  if (url === undefined) return undefined
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return new URL(url)
  throw new ArgumentError(
    `Expected \`${name}\` to be an address with ${protocols.join(' or ')}, got \`${formatValue(url)}\``,
  )
}

/** Where browsers find the broker of a store. Throws {@link ArgumentError}. */
export function brokerUrlOf({ brokerUrl }: ConsoleOptions, store: ConsoleStore): string {
  const url = urlOf('brokerUrl', brokerUrl, ['ws:', 'wss:'])
  if (url?.username || url?.password)
    throw new ArgumentError(
      'Expected `brokerUrl` without user name and password, which everybody could read; there is `brokerLogin`',
    )
  if (url !== undefined) return url.href
  if (!isAttached(store)) return store.wsUrl
  throw new ArgumentError(
    'Expected `brokerUrl` for an attached store: the page reads and writes keys at its broker, over WebSocket',
  )
}

/** Throws {@link ArgumentError} for what is no login. */
export function checkLogin(login: BrokerLogin | undefined): void {
  if (login === undefined) return
  checkOptionNames('brokerLogin', login, { username: true, password: true } satisfies OptionNames<BrokerLogin>)
  const { username, password = '' } = login
  if (typeof username === 'string' && username !== '' && typeof password === 'string') return
  throw new ArgumentError('Expected `brokerLogin` to have a `username`, and as a `password` a text')
}
