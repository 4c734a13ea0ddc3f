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
  /** TCP port; 0 for any free port. */
  readonly port: number
  /** Access token. Default a random one at each start. */
  readonly token?: string | undefined
  /** Contents of the store after a reset; without it, a reset is not offered. */
  readonly seed: readonly DumpLine[] | undefined
  readonly version: string
  /** Clock of the stats stream. Default the system clock. */
  readonly clock?: Clock | undefined
  /** Folder of the built page. Default that of this package. */
  readonly page?: URL | undefined
  /** Closes a connection that is idle during a request for this long, ms. Default 60,000. */
  readonly idleTimeout?: number | undefined
  /** Listens with TLS. Its `clientCa` is ignored: clients authenticate with the token. */
  readonly tls?: TlsMaterial | undefined
  /**
   * An existing server on which the console is served below `path`. Then `host`, `port`, `tls` and `idleTimeout` are
   * ignored, and that server limits connections.
   */
  readonly server?: GivenServer | undefined
  /** Path of the console. Default `/console` on an existing server, else none. */
  readonly path?: string | undefined
  /**
   * Public URL behind a proxy, such as `https://panel.example/console/`. Client addresses are then taken from the
   * `X-Forwarded-For` header of a proxy on this machine.
   */
  readonly publicUrl?: string | undefined
  /**
   * Broker URL for browsers, such as `wss://panel.example/mqtt`, without user name and password, since it appears in a
   * response header. Default the store's own; required for an attached store.
   */
  readonly brokerUrl?: string | undefined
  /**
   * The page's login at the broker. Anyone with the console token can read it, so use a user without further rights.
   * Default the user `console` with the token; with an attached store, anonymous.
   */
  readonly brokerLogin?: BrokerLogin | undefined
}

/** Throws {@link ArgumentError} for a token that could be guessed. */
export function checkToken(token: string | undefined): void {
  if (token === undefined || (typeof token === 'string' && /^[\w-]{32,512}$/.test(token))) return
  // Without the value: it is a secret.
  throw new ArgumentError('Expected `token` to be 32 to 512 random letters, digits, `-` and `_`')
}

/** Returns the path of a console, without a trailing slash. Throws {@link ArgumentError}. */
export function pathOf({ path, server }: ConsoleOptions): string {
  const prefix = path ?? (server === undefined ? '' : '/console')
  if (prefix === '' || /^(\/[\w.~-]+)+$/.test(prefix)) return prefix
  throw new ArgumentError(`Expected \`path\` to be a path such as /console, got \`${formatValue(path)}\``)
}

/** Parses a URL option. Throws {@link ArgumentError} unless it has one of the protocols. */
export function urlOf(name: string, url: string | undefined, protocols: readonly string[]): URL | undefined {
  if (url === undefined) return undefined
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return new URL(url)
  throw new ArgumentError(
    `Expected \`${name}\` to be a URL with ${protocols.join(' or ')}, got \`${formatValue(url)}\``,
  )
}

/** Returns the broker URL for browsers. Throws {@link ArgumentError}. */
export function brokerUrlOf({ brokerUrl }: ConsoleOptions, store: ConsoleStore): string {
  const url = urlOf('brokerUrl', brokerUrl, ['ws:', 'wss:'])
  if (url?.username || url?.password)
    throw new ArgumentError(
      'Expected `brokerUrl` without user name and password, which anyone could read; use `brokerLogin`',
    )
  if (url !== undefined) return url.href
  if (!isAttached(store)) return store.wsUrl
  throw new ArgumentError(
    'Expected `brokerUrl` for an attached store: the page accesses keys through its broker, over WebSocket',
  )
}

export function checkLogin(login: BrokerLogin | undefined): void {
  if (login === undefined) return
  checkOptionNames('brokerLogin', login, { username: true, password: true } satisfies OptionNames<BrokerLogin>)
  const { username, password = '' } = login
  if (typeof username === 'string' && username !== '' && typeof password === 'string') return
  throw new ArgumentError('Expected `brokerLogin` to have a non-empty `username`, and a string as `password`')
}
