import { LocalStoreServer } from './host/local-store-server.js'
import { checkOptions, type ServeOptions } from './host/options.js'
import { warnIfInsecure } from './host/security.js'
import type { StoreServer } from './host/store-server.js'

export type { DumpLine } from '../node/dump/codec.js'
export type { AuditEvent } from '../node/net/audit.js'
export type { TlsMaterial } from '../node/net/tls.js'
export { certificates } from './access/certificates.js'
export type { Principal } from './access/login.js'
export { type Authenticate, firstOf, type LoginRequest, type LoginResult, type Method } from './access/login.js'
export { Passwords } from './access/passwords.js'
export { type TokenOptions, Tokens } from './access/tokens.js'
export { attach } from './attach/attach.js'
export type { AttachedState, AttachedStats, AttachedStore } from './attach/attached-store.js'
export type { AttachOptions } from './attach/options.js'
export type { ServeOptions } from './host/options.js'
export type { StorageStatus, StoredKey, StoreServer, StoreStats } from './host/store-server.js'
export type { Usage } from './host/usage.js'

/**
 * Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside. The store keeps its keys in memory
 * and, with `data`, also on disk. Rejects with the system's error when a port is in use, with `in-use` when another
 * process uses the directory, and with `damaged` or `format` when the directory's content was not written by a store.
 * Throws {@link ArgumentError} for an invalid option.
 *
 * @example
 * ```ts
 * await using store = await serve({ port: 0, wsPort: 0 })
 * console.log(store.url)
 * ```
 */
export async function serve(options: ServeOptions = {}): Promise<StoreServer> {
  const checked = checkOptions(options)
  // An exception of `warn` rejects while nothing is open.
  warnIfInsecure(checked)
  return LocalStoreServer.start(checked)
}
