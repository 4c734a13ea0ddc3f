import { LocalStoreServer } from './host/local-store-server.js'
import { checkOptions, type ServeOptions } from './host/options.js'
import { warnIfInsecure } from './host/security.js'
import type { StoreServer } from './host/store-server.js'

export type { Dialect, Reply } from '../core/protocol/replies.js'
export type { Clock } from '../core/util/clock.js'
export type { DumpLine } from '../node/dump/codec.js'
export type { AuditEvent } from '../node/net/audit.js'
export type { TlsMaterial } from '../node/net/tls.js'
export { type CertificateAttributes, certificates } from './access/certificates.js'
export type { ClientCertificate, Principal, SubjectName } from './access/login.js'
export {
  type Authenticate,
  firstOf,
  type LoginRefusal,
  type LoginRequest,
  type LoginResult,
  type Method,
  type ProofOf,
} from './access/login.js'
export { Passwords } from './access/passwords.js'
export { type TokenOptions, Tokens } from './access/tokens.js'
export { attach } from './attach/attach.js'
export type { AttachedState, AttachedStats, AttachedStore } from './attach/attached-store.js'
export type { AttachOptions } from './attach/options.js'
export type { ServeOptions } from './host/options.js'
export type { QuotaOptions } from './host/quotas.js'
export type { SecurityOptions } from './host/security.js'
export type {
  ConnectedClient,
  Fault,
  LoadOptions,
  LoadResult,
  Reloaded,
  RestartOptions,
  StorageStatus,
  StoredKey,
  StoreLimits,
  StoreServer,
  StoreStats,
} from './host/store-server.js'
export type { AddressUsage, Usage } from './host/usage.js'
export type { RequestReport } from './service/store-service.js'
export type { ClusterNode, ClusterStatus } from './storage/storage.js'
export type { RecoveryProgress, StorageOptions } from './storage/storage-options.js'

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
