import { checkOptionNames, type OptionNames } from '../../core/util/check.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { GivenServer } from '../../node/net/http.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import { type ConsoleStore, isAttached } from './console-store.js'
import type { BrokerLogin } from './contract.js'

/** The options of `ConsoleServer.start`. All times are in ms. */
export interface ConsoleOptions {
  readonly host: string
  /** The TCP port. 0 selects a free port. */
  readonly port: number
  /** The access token. Default: a random token at each start. */
  readonly token?: string | undefined
  /** The store's contents after a reset. Without them, the console offers no reset. */
  readonly seed: readonly DumpLine[] | undefined
  readonly version: string
  /** The clock of the stats stream. Default: the system clock. */
  readonly clock?: Clock | undefined
  /** The folder of the built page. Default: the folder in this package. */
  readonly page?: URL | undefined
  /** The time in ms after which a connection that is idle during a request is closed. Default: 60,000. */
  readonly idleTimeout?: number | undefined
  /** Listens with TLS. `clientCa` is ignored, because clients authenticate with the token. */
  readonly tls?: TlsMaterial | undefined
  /**
   * An existing server that serves the console below `path`. If set, `host`, `port`, `tls` and `idleTimeout` are
   * ignored, and the existing server limits connections.
   */
  readonly server?: GivenServer | undefined
  /** The path of the console. Default: `/console` on an existing server, otherwise none. */
  readonly path?: string | undefined
  /**
   * The public URL behind a proxy, such as `https://panel.example/console/`. If set, client addresses are taken from
   * the `X-Forwarded-For` header of a proxy on this machine.
   */
  readonly publicUrl?: string | undefined
  /**
   * The broker URL for browsers, such as `wss://panel.example/mqtt`. It must not contain a user name or password,
   * because it appears in a response header. Default: the URL of the store's own broker. An attached store requires
   * this option.
   */
  readonly brokerUrl?: string | undefined
  /**
   * The page's login at the broker. Anyone with the console token can read it, so use a user without further rights.
   * Default: the user `console` with the token, or an anonymous login for an attached store. A function is called each
   * time that a page loads, so that a password can change.
   */
  readonly brokerLogin?: BrokerLogin | (() => BrokerLogin) | undefined
  /**
   * Whether the console can freeze and restart the store and disconnect clients, to test how applications react. Leave
   * this off in production. An attached store does not support it. Default: `false`.
   */
  readonly faults?: boolean | undefined
}

/** Throws {@link ArgumentError} for a token that could be guessed. */
export function checkToken(token: string | undefined): void {
  if (token === undefined || (typeof token === 'string' && /^[\w-]{32,512}$/.test(token))) return
  // The message omits the value, because it is a secret.
  throw new ArgumentError('Expected `token` to be 32 to 512 random letters, digits, `-` and `_`')
}

/** Throws {@link ArgumentError} for faults that the console cannot cause. */
export function checkFaults({ faults = false }: ConsoleOptions, store: ConsoleStore): void {
  if (typeof faults !== 'boolean')
    throw new ArgumentError(`Expected \`faults\` to be true or false, got \`${formatValue(faults)}\``)
  if (faults && isAttached(store))
    throw new ArgumentError('Expected no `faults` for an attached store, whose connections belong to another broker')
}

/** Returns the path of a console without a trailing slash. Throws {@link ArgumentError} for an invalid path. */
export function pathOf({ path, server }: ConsoleOptions): string {
  const prefix = path ?? (server === undefined ? '' : '/console')
  if (prefix === '' || /^(\/[\w.~-]+)+$/.test(prefix)) return prefix
  throw new ArgumentError(`Expected \`path\` to be a path such as /console, got \`${formatValue(path)}\``)
}

/** Parses a URL option. Throws {@link ArgumentError} if the URL has none of the protocols. */
export function urlOf(name: string, url: string | undefined, protocols: readonly string[]): URL | undefined {
  if (url === undefined) return undefined
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return new URL(url)
  throw new ArgumentError(`Expected \`${name}\` to be a URL with ${protocols.join(' or ')}, got \`${formatUrl(url)}\``)
}

/** Returns the broker URL for browsers. Throws {@link ArgumentError} if the URL is invalid or missing. */
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

/** Returns the page's login, if there is one. Throws {@link ArgumentError} for an invalid one. */
export function loginOf(option: ConsoleOptions['brokerLogin']): BrokerLogin | undefined {
  const login = typeof option === 'function' ? option() : option
  if (login === undefined) return undefined
  checkOptionNames('brokerLogin', login, { username: true, password: true } satisfies OptionNames<BrokerLogin>)
  const { username, password = '' } = login
  if (typeof username === 'string' && username !== '' && typeof password === 'string') return login
  throw new ArgumentError('Expected `brokerLogin` to have a non-empty `username`, and a string as `password`')
}
