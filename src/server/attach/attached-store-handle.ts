import type { Observable } from 'rxjs'
import { validateUrls } from '../../client/connect/connect.js'
import { checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { ClosedError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { dumpLines, isReplacing, parseCheckedDump, restore } from '../host/dump-and-load.js'
import { storedKey } from '../host/local-store-server.js'
import { parsePolicyOption } from '../host/security.js'
import type {
  ConnectedClient,
  Fault,
  LoadOptions,
  LoadResult,
  Reloaded,
  StorageStatus,
  StoredKey,
} from '../host/store-server.js'
import type { RequestReport } from '../service/store-service.js'
import type { ClusterStatus } from '../storage/storage.js'
import type { AttachedRequestHandler } from './attached-request-handler.js'
import type { AttachedState, AttachedStats, AttachedStore } from './attached-store.js'
import { FailoverController } from './failover-controller.js'
import type { Settings } from './options.js'

const IDLE: AttachedStats = { keys: 0, bytes: 0, watches: 0, requests: 0, errors: 0, notifications: 0 }

export class AttachedStoreHandle implements AttachedStore {
  readonly clientId: string
  readonly url: string
  readonly state$: Observable<AttachedState>
  readonly requests$: Observable<RequestReport>
  readonly drift$: Observable<number>
  readonly faults$: Observable<Fault>
  readonly storage$: Observable<StorageStatus>
  readonly audit$: Observable<AuditEvent>
  readonly limits: AttachedStore['limits']
  readonly #controller: FailoverController
  readonly #keyspace: Settings['keyspace']

  constructor(url: string, settings: Settings) {
    validateUrls(url)
    const service = new FailoverController(url, settings)
    this.clientId = settings.clientId
    this.url = formatUrl(url)
    this.state$ = service.state$
    this.requests$ = service.requests$
    this.drift$ = service.drift$
    this.faults$ = service.faults$
    this.storage$ = service.storage$
    this.audit$ = service.audit$
    const { keyspace, watches } = settings
    this.limits = { keys: keyspace.maxKeys, bytes: keyspace.maxBytes, watches: watches.max }
    this.#controller = service
    this.#keyspace = keyspace
  }

  get state(): AttachedState {
    return this.#controller.state
  }

  get startedAt(): number | undefined {
    return this.#handler?.startedAt
  }

  get stats(): AttachedStats {
    if (this.#handler === undefined) return IDLE
    const { engine, server } = this.#handler
    const { size: keys, bytes, watchers } = engine
    return { keys, bytes, watches: watchers.count, ...server.counters }
  }

  get keyspace(): number {
    return this.#handler?.engine.keyspace ?? 0
  }

  get drift(): number {
    return this.#handler?.server.drift ?? 0
  }

  get isRejectingClocks(): boolean {
    return this.#handler?.server.isRejectingClocks ?? false
  }

  get storage(): StorageStatus {
    return this.#controller.storage
  }

  get cluster(): ClusterStatus | undefined {
    return this.#controller.cluster
  }

  get clients(): readonly ConnectedClient[] {
    return this.#handler?.clients.recentClients ?? []
  }

  peek(key: string | Uint8Array): StoredKey | undefined {
    return this.#handler && storedKey(this.#handler.engine, key)
  }

  *watchedBy(clientId: string): Iterable<Uint8Array> {
    const client = this.#handler?.clients.find(clientId)
    if (client !== undefined) yield* this.#handler?.engine.watchedBy(client) ?? []
  }

  dump(): Iterable<DumpLine> {
    return dumpLines(Array.from(this.#handler?.engine.records() ?? []))
  }

  async load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    const replace = isReplacing(options)
    const handler = this.#requireHandler()
    const records = await parseCheckedDump(lines, token => handler.engine.isAccepted(token, this.#keyspace.clock.now()))
    // During the wait, another store may have taken over, or this store may have reopened with other keys.
    if (this.#handler !== handler)
      throw new ClosedError('The store stopped serving; nothing was loaded. Try again when it serves')
    const { loaded, versionsKept, expired, deleted } = await restore(handler.server, records, replace, this.#keyspace)
    return { loaded, versionsKept, expired, deleted }
  }

  reload(changes: Pick<Reloaded, 'policy'>): void {
    checkOptionNames('reload', changes, { policy: true } satisfies OptionNames<Pick<Reloaded, 'policy'>>)
    const { policy } = changes
    if (policy !== undefined) this.#controller.setPolicy(parsePolicyOption(policy))
  }

  close(): Promise<void> {
    return this.#controller.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #handler(): AttachedRequestHandler | undefined {
    return this.#controller.handler
  }

  #requireHandler(): AttachedRequestHandler {
    if (this.#handler !== undefined) return this.#handler
    const { state } = this.state
    if (state === 'standby') throw new ClosedError('This store is on standby; load the keys through the active store')
    if (state === 'closed') throw new ClosedError('The store is closed; attach a new one')
    throw new ClosedError('The store is not serving yet; try again when it is')
  }
}
