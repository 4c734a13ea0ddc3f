import { type Observable, skip } from 'rxjs'
import { toBinaryString, utf8 } from '../../core/util/bytes.js'
import { checkArgument, checkChoice, checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { ArgumentError, ClosedError } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import { guard } from '../../node/net/report-subject.js'
import { type TlsMaterial, validityOf } from '../../node/net/tls.js'
import type { Engine } from '../engine/engine.js'
import type { RequestReport } from '../service/store-service.js'
import { type ClusterStatus, createStorage, type OpenedStorage } from '../storage/storage.js'
import { dumpLines, isReplacing, parseCheckedDump, restore } from './dump-and-load.js'
import { InstanceManager, NodeMonitor } from './instance-manager.js'
import type { CheckedOptions } from './options.js'
import { watchQuotas } from './quotas.js'
import {
  type AccessControl,
  checkTlsReplacement,
  createAccessControl,
  parsePolicyOption,
  rightsOf,
  warnIfInvalid,
} from './security.js'
import { concernListener, logEventListener, newStoreEvents, type StoreEvents } from './store-events.js'
import type { StoreInstance } from './store-instance.js'
import type {
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
} from './store-server.js'
import { type AddressUsage, addressesOf, type Usage, usageOf } from './usage.js'

/** Runs one instance of the store after another on the same ports. */
export class LocalStoreServer implements StoreServer {
  readonly url: string
  readonly wsUrl: string
  readonly requests$: Observable<RequestReport>
  readonly drift$: Observable<number>
  readonly faults$: Observable<Fault>
  readonly storage$: Observable<StorageStatus>
  certificateExpiresAt: number | undefined
  readonly #events: StoreEvents
  readonly #access: AccessControl
  readonly #instances: InstanceManager
  readonly #nodeMonitor: NodeMonitor
  #closed: Promise<void> | undefined

  private constructor(events: StoreEvents, access: AccessControl, instances: InstanceManager) {
    const { url, wsUrl } = urlsOf(instances.options)
    this.url = url
    this.wsUrl = wsUrl
    this.requests$ = guard(events.requests$)
    this.drift$ = guard(events.drift$)
    this.faults$ = events.faults$.asObservable()
    this.storage$ = guard(events.storage$.pipe(skip(1)))
    this.certificateExpiresAt = expiryOf(instances.options.tls)
    this.#events = events
    this.#access = access
    this.#instances = instances
    this.#nodeMonitor = new NodeMonitor(events, instances)
  }

  static async start(options: CheckedOptions): Promise<LocalStoreServer> {
    const events = newStoreEvents()
    const access = createAccessControl(options, events.faults$)
    let store: LocalStoreServer | undefined
    const storage = await createStorage({
      options,
      watches: watchQuotas(options),
      rights: rightsOf(access),
      host: {
        events: logEventListener(events),
        onLogHealth: concernListener(events),
        countClients: () => store?.stats.connections ?? 0,
      },
    })
    try {
      store = new LocalStoreServer(events, access, await InstanceManager.start({ options, events, storage, access }))
      return store
    } catch (error) {
      await storage.release()
      throw error
    }
  }

  get cluster(): ClusterStatus | undefined {
    return this.#instances.opened.cluster?.()
  }

  get storage(): StorageStatus {
    return this.#events.storage$.value
  }

  get startedAt(): number {
    return this.#instance.startedAt
  }

  get stats(): StoreStats {
    const { size, bytes, watchers } = this.#engine
    const { broker, server } = this.#instance
    const refusedLogins = this.#access.authorizer?.rejectedLogins ?? 0
    return { keys: size, bytes, watches: watchers.count, refusedLogins, ...broker.stats, ...server.counters }
  }

  get limits(): StoreLimits {
    const {
      maxKeys: keys,
      maxBytes: bytes,
      maxBufferedBytes: bufferedBytes,
      maxConnections: connections,
    } = this.#options
    const { maxSubscriptions: subscriptions, maxWatches: watches, maxRetained, maxRetainedBytes } = this.#options
    const retained = { retained: maxRetained, retainedBytes: maxRetainedBytes }
    return { keys, bytes, bufferedBytes, connections, subscriptions, watches, ...retained }
  }

  get hasAccessControl(): boolean {
    return this.#access.authorizer !== undefined
  }

  get loginProblem(): string | undefined {
    return this.#access.authorizer?.loginProblem
  }

  get isAccepting(): boolean {
    return this.#closed === undefined && this.#instances.isAccepting
  }

  get usage(): Iterable<Usage> {
    return usageOf(this.#instance.broker.accounts, this.#engine)
  }

  get addresses(): Iterable<AddressUsage> {
    return addressesOf(this.#instance.broker.addresses, this.#access.authorizer?.failedLogins)
  }

  get audit$(): Observable<AuditEvent> {
    return this.#access.audit.events$
  }

  get keyspace(): number {
    return this.#engine.keyspace
  }

  get drift(): number {
    return this.#instance.server.drift
  }

  get isRejectingClocks(): boolean {
    return this.#instance.server.isRejectingClocks
  }

  get clientIds(): readonly string[] {
    return Array.from(this.#instance.broker.connections, connection => connection.clientId)
  }

  get clients(): readonly ConnectedClient[] {
    return this.#instance.clients
  }

  get frozenUntil(): number | undefined {
    return this.#instances.frozenUntil
  }

  peek(key: string | Uint8Array): StoredKey | undefined {
    return storedKey(this.#engine, key)
  }

  *watchedBy(clientId: string): Iterable<Uint8Array> {
    for (const connection of this.#instance.connectionsOf(clientId)) yield* this.#engine.watchedBy(connection)
  }

  cut(clientId: string): boolean {
    const connections = this.#instance.connectionsOf(clientId)
    this.#instance.broker.freezer.runWithDestroy(() => {
      for (const connection of connections) connection.cut()
    })
    return connections.length > 0
  }

  freeze(ms: number): void {
    checkFreezeMs(ms)
    this.#checkOpen()
    this.#instances.freeze(ms)
  }

  async restart(options: RestartOptions): Promise<void> {
    checkOptionNames('restart', options, { keys: true } satisfies OptionNames<RestartOptions>)
    checkChoice('keys', options.keys, ['kept', 'lost'])
    if (options.keys === 'lost' && this.#options.log)
      throw new ArgumentError(
        'A node cannot lose the keys that all nodes share; delete the keys, or start a store with another name',
      )
    this.#checkOpen()
    return this.#options.log ? this.#nodeMonitor.restart() : this.#instances.restart(options.keys)
  }

  dump(): Iterable<DumpLine> {
    return dumpLines(Array.from(this.#engine.records()))
  }

  async load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    const replace = isReplacing(options)
    this.#checkOpen()
    const records = await parseCheckedDump(lines, token => this.#engine.isAccepted(token, this.#options.clock.now()))
    await this.#instances.settled
    this.#checkOpen()
    const { loaded, versionsKept, expired, deleted } = await restore(
      this.#instance.server,
      records,
      replace,
      this.#options,
    )
    return { loaded, versionsKept, expired, deleted }
  }

  reload(changes: Reloaded): void {
    checkOptionNames('reload', changes, { policy: true, tls: true } satisfies OptionNames<Reloaded>)
    this.#checkOpen()
    const { policy, tls } = changes
    const parsed = policy === undefined ? undefined : parsePolicyOption(policy)
    const { authorizer } = this.#access
    if (parsed && !authorizer?.hasPolicy)
      throw new ArgumentError('The store was started without a policy; restart it with one')
    if (tls !== undefined) this.#setTls(tls)
    if (parsed && authorizer) this.#instance.setPolicy(authorizer, parsed)
  }

  close(): Promise<void> {
    this.#nodeMonitor.stop()
    this.#closed ??= this.#instances.settled.then(() => this.#close())
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #options(): CheckedOptions {
    return this.#instances.options
  }

  get #instance(): StoreInstance {
    return this.#instances.instance
  }

  get #engine(): OpenedStorage['engine'] {
    return this.#instances.opened.engine
  }

  #setTls(tls: TlsMaterial): void {
    const { tls: previous, warn } = this.#options
    checkTlsReplacement(previous, tls)
    if (tls.cert !== previous?.cert) warnIfInvalid(tls, warn)
    this.#instances.options = { ...this.#options, tls }
    this.#instance.broker.setTls(tls)
    this.certificateExpiresAt = expiryOf(tls)
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError('The store is closed; start another one')
  }

  async #close(): Promise<void> {
    await this.#instances.close()
    for (const subject of Object.values(this.#events)) subject.complete()
    this.#access.audit.close()
  }
}

const expiryOf = (tls: TlsMaterial | undefined): number | undefined => tls && validityOf(tls.cert).notAfter

export interface StoreUrls {
  readonly url: string
  readonly wsUrl: string
}

export function urlsOf({
  host,
  tls,
  port,
  wsPort,
}: Pick<CheckedOptions, 'host' | 'tls' | 'port' | 'wsPort'>): StoreUrls {
  const s = tls === undefined ? '' : 's'
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `mqtt${s}://${name}:${port}`, wsUrl: `ws${s}://${name}:${wsPort}` }
}

export function checkFreezeMs(ms: number): void {
  checkArgument(Number.isSafeInteger(ms) && ms >= 0, '`ms` to be a whole number from 0', ms)
}

export function storedKey<C>(engine: Engine<C>, key: string | Uint8Array): StoredKey | undefined {
  const bytes = typeof key === 'string' ? utf8(key) : key
  const record = engine.peek(bytes)
  if (record === undefined) return undefined
  return {
    value: new Uint8Array(record.value),
    version: String(record.version),
    expiresAt: record.expiresAt,
    fencingToken: record.fencingToken && String(record.fencingToken),
    watchers: engine.watchers.countFor(toBinaryString(bytes)),
  }
}
