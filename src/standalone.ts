import { checkOptions, type ServeOptions } from './standalone/options.js'
import type { RunningStore } from './standalone/running-store.js'
import { StandaloneStore } from './standalone/standalone-store.js'

export type { Clock } from './clock.js'
export type { DumpLine } from './dump/dump-line.js'
export type { Dialect, Reply } from './protocol/replies.js'
export type { RequestReport } from './server/state-store-server.js'
export type { ServeOptions } from './standalone/options.js'
export type {
  ConnectedClient,
  LoadOptions,
  LoadResult,
  RestartOptions,
  RunningStore,
  StoredKey,
  StoreStats,
} from './standalone/running-store.js'

/**
 * Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside. Keys live in memory.
 * Rejects with the system's error when a port is taken, throws {@link ArgumentError} for a wrong option.
 *
 * @example
 * ```ts
 * await using store = await serve({ port: 0, wsPort: 0 })
 * console.log(store.url)
 * ```
 */
export async function serve(options: ServeOptions = {}): Promise<RunningStore> {
  return StandaloneStore.start(checkOptions(options))
}
