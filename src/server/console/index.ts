import { checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { packageVersion } from '../../node/package-files.js'
import type { AttachedStore } from '../attach/attached-store.js'
import type { StoreServer } from '../host/store-server.js'
import type { ConsoleOptions } from './console-options.js'
import { ConsoleServer } from './console-server.js'

export type { GivenServer } from '../../node/net/http.js'
export type { ConsoleServer } from './console-server.js'
export type { BrokerLogin } from './contract.js'

/** The options of `serveConsole`. */
export interface ServeConsoleOptions
  extends Optional<
    Pick<
      ConsoleOptions,
      | 'host'
      | 'port'
      | 'token'
      | 'seed'
      | 'tls'
      | 'server'
      | 'path'
      | 'publicUrl'
      | 'brokerUrl'
      | 'brokerLogin'
      | 'faults'
    >
  > {}

type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }

const NAMES: OptionNames<ServeConsoleOptions> = {
  host: true,
  port: true,
  token: true,
  seed: true,
  tls: true,
  server: true,
  path: true,
  publicUrl: true,
  brokerUrl: true,
  brokerLogin: true,
  faults: true,
}

/**
 * Serves a store's console on a separate port (default `127.0.0.1:8080`), or below `/console` on an existing
 * server. An attached store requires `brokerUrl`. Rejects with the system's error if the port is in use, and with
 * {@link ArgumentError} for an invalid option.
 *
 * @example
 * ```ts
 * await using console = await serveConsole(store, {
 *   server,
 *   publicUrl: 'https://panel.example/console/',
 * })
 * print(console.link)
 * ```
 *
 * @example
 * ```ts
 * await using store = await attach('mqtt://broker')
 * await using console = await serveConsole(store, {
 *   brokerUrl: 'ws://broker:9001',
 *   brokerLogin: { username: 'console' },
 * })
 * ```
 */
export async function serveConsole(
  store: StoreServer | AttachedStore,
  options: ServeConsoleOptions = {},
): Promise<ConsoleServer> {
  checkOptionNames('serveConsole', options, NAMES)
  const { host = '127.0.0.1', port = 8080, seed } = options
  return ConsoleServer.start(store, { ...options, host, port, seed, version: packageVersion() })
}
