import { checkOptions, type ServeOptions } from './host/options.js'
import type { RunningStore } from './host/running-store.js'
import { warnOfStrangers } from './host/security.js'
import { StandaloneStore } from './host/standalone-store.js'

export type { Dialect, Reply } from '../core/protocol/replies.js'
export type { Clock } from '../core/util/clock.js'
export type { DumpLine } from '../node/dump/codec.js'
export type { AuditEvent } from '../node/net/audit.js'
export type { TlsMaterial } from '../node/net/tls.js'
export { type CertificateAttributes, certificates } from './access/certificates.js'
export type { ClientCertificate, Principal, SubjectName } from './access/login.js'
export {
  type Authenticate,
  inOrder,
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
} from './host/running-store.js'
export type { SecurityOptions } from './host/security.js'
export type { AddressUsage, Usage } from './host/usage.js'
export type { RequestReport } from './service/state-store-server.js'
export type { ClusterNode, ClusterStatus } from './storage/storage.js'
export type { OpeningProgress, StorageOptions } from './storage/storage-options.js'

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
