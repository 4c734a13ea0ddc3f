import { checkOptions, type ServeOptions } from './standalone/options.js'
import type { RunningStore } from './standalone/running-store.js'
import { warnOfStrangers } from './standalone/security.js'
import { StandaloneStore } from './standalone/standalone-store.js'

export { attach } from './attach/attach.js'
export type { AttachedState, AttachedStats, AttachedStore } from './attach/attached-store.js'
export type { AttachOptions } from './attach/options.js'
export type { Clock } from './base/clock.js'
export type { DumpLine } from './dump/dump-line.js'
export { type CertificateAttributes, certificates } from './identity/certificates.js'
export type { ClientCertificate } from './identity/client-certificate.js'
export {
  type Authenticate,
  inOrder,
  type LoginRefusal,
  type LoginRequest,
  type LoginResult,
  type Method,
  type ProofOf,
} from './identity/login.js'
export { Passwords } from './identity/passwords.js'
export type { Principal } from './identity/principal.js'
export { type TokenOptions, Tokens } from './identity/tokens.js'
export type { AuditEvent } from './listeners/audit.js'
export type { Dialect, Reply } from './protocol/replies.js'
export type { RequestReport } from './server/state-store-server.js'
export type { ClusterNode, ClusterStatus } from './standalone/cluster-status.js'
export type { ServeOptions } from './standalone/options.js'
export type { QuotaOptions } from './standalone/quotas.js'
export type {
  ConnectedClient,
  Fault,
  LoadOptions,
  LoadResult,
  Reloaded,
  RestartOptions,
  RunningStore,
  StorageStatus,
  StoredKey,
  StoreStats,
} from './standalone/running-store.js'
export type { SecurityOptions } from './standalone/security.js'
export type { OpeningProgress, StorageOptions } from './standalone/storage-options.js'
export type { AddressUsage, Usage } from './standalone/usage.js'
export type { TlsMaterial } from './tls/tls.js'

/**
 * Runs a state store: an MQTT 5 broker over TCP and WebSocket with the store inside. Keys live in memory, and with `data` on
 * the disk as well. Rejects with the system's error when a port is taken, `in-use` when another process has the directory,
 * `damaged` or `format` when it is not what a store wrote; throws {@link ArgumentError} for a wrong option.
 *
 * @example
 * ```ts
 * await using store = await serve({ port: 0, wsPort: 0 })
 * console.log(store.url)
 * ```
 */
export async function serve(options: ServeOptions = {}): Promise<RunningStore> {
  const checked = checkOptions(options)
  const store = await StandaloneStore.start(checked)
  warnOfStrangers(checked)
  return store
}
