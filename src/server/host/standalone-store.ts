import { type Observable, skip } from 'rxjs'
import { checkChoice } from '../../core/util/check.js'
import { ArgumentError, ClosedError } from '../../core/util/errors.js'
import { checkOptionNames, type OptionNames } from '../../core/util/option-names.js'
import type { DumpLine } from '../../node/dump/dump-line.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import type { Policy } from '../access/policy.js'
import type { RequestReport } from '../service/state-store-server.js'
import type { ClusterStatus } from '../storage/cluster-status.js'
import { type Opened, type Storage, storageOf } from '../storage/storage.js'
import { urlsOf } from './addresses.js'
import { watchQuotas } from './broker-quotas.js'
import { type Door, doorOf, rightsOf } from './door.js'
import { checkFreeze, Freeze } from './freeze.js'
import type { Life } from './life.js'
import { Lives } from './lives.js'
import { NodeWatch } from './node-watch.js'
import type { ServeOptions } from './options.js'
import { begin, keptTo, logEventsTo, newOutlets, type Outlets } from './outlets.js'
import type {
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
} from './running-store.js'
import { checkNewTls, policyOf } from './security.js'
import { stage } from './stage.js'
import { statsOf } from './stats.js'
import { storedKey } from './stored-key.js'
import { isReplacing, linesFrom, restore } from './transfer.js'
import { type AddressUsage, addressesOf, type Usage, usageOf } from './usage.js'

/** One life after the other on the same ports. */
export class StandaloneStore implements RunningStore {
  readonly url: string
  readonly wsUrl: string
  readonly requests$: Observable<RequestReport>
  readonly drift$: Observable<number>
  readonly faults$: Observable<Fault>
  readonly storage$: Observable<StorageStatus>
  readonly #outlets: Outlets
  readonly #storage: Storage
  readonly #door: Door
  readonly #lives: Lives
  readonly #nodeWatch: NodeWatch
  readonly #freeze: Freeze
  #closed: Promise<void> | undefined

  private constructor(
    options: Required<ServeOptions>,
    outlets: Outlets,
    storage: Storage,
    opened: Opened,
    life: Life,
    door: Door,
  ) {
    const { url, wsUrl } = urlsOf(options, life.broker)
    this.url = url
    this.wsUrl = wsUrl
    this.requests$ = outlets.requests$.asObservable()
    this.drift$ = outlets.drift$.asObservable()
    this.faults$ = outlets.faults$.asObservable()
    this.storage$ = outlets.storage$.pipe(skip(1))
    this.#outlets = outlets
    this.#storage = storage
    this.#door = door
    this.#lives = new Lives(options, outlets, storage, door, opened, life, () => this.#freeze.forget())
    this.#freeze = new Freeze(options.clock, () => this.#life)
    this.#nodeWatch = new NodeWatch(outlets, this.#lives)
  }

  static async start(options: Required<ServeOptions>): Promise<StandaloneStore> {
    const outlets = newOutlets()
    const door = doorOf(options, outlets.faults$)
    let store: StandaloneStore | undefined
    const host = { events: logEventsTo(outlets), kept: keptTo(outlets), clients: () => store?.stats.connections ?? 0 }
    const storage = await storageOf(options, watchQuotas(options), rightsOf(door), host)
    try {
      const opened = await storage.open()
      const life = await begin(options, outlets, opened, door)
      store = new StandaloneStore(options, outlets, storage, opened, life, door)
      return store
    } catch (error) {
      await storage.release()
      throw error
    }
  }

  get cluster(): ClusterStatus | undefined {
    return this.#lives.opened.cluster?.()
  }

  get storage(): StorageStatus {
    return this.#outlets.storage$.value
  }

  get startedAt(): number {
    return this.#life.startedAt
  }

  get stats(): StoreStats {
    return statsOf(this.#life, this.#engine, this.#door)
  }

  get usage(): Iterable<Usage> {
    return usageOf(this.#life.broker.accounts, this.#engine)
  }

  get addresses(): Iterable<AddressUsage> {
    return addressesOf(this.#life.broker.addresses, this.#door.guard?.failed)
  }

  get audit$(): Observable<AuditEvent> {
    return this.#door.audit.events$
  }

  get keyspace(): number {
    return this.#engine.keyspace
  }

  get drift(): number {
    return this.#engine.drift(this.#options.clock.now())
  }

  get clientIds(): readonly string[] {
    return Array.from(this.#life.broker.connections, connection => connection.clientId)
  }

  get clients(): readonly ConnectedClient[] {
    return this.#life.clients
  }

  get frozenUntil(): number | undefined {
    return this.#freeze.until
  }

  peek(key: string | Uint8Array): StoredKey | undefined {
    return storedKey(this.#engine, key)
  }

  *watchedBy(clientId: string): Iterable<Uint8Array> {
    for (const connection of this.#life.connectionsOf(clientId)) yield* this.#engine.watchedBy(connection)
  }

  cut(clientId: string): boolean {
    const connections = this.#life.connectionsOf(clientId)
    this.#life.broker.gate.pass(() => {
      for (const connection of connections) connection.cut()
    })
    return connections.length > 0
  }

  freeze(ms: number): void {
    checkFreeze(ms)
    this.#checkOpen()
    if (this.#lives.restarting) throw new ClosedError('The store is being restarted; try again when it listens')
    this.#freeze.begin(ms)
  }

  async restart(options: RestartOptions): Promise<void> {
    checkOptionNames('restart', options, { keys: true } satisfies OptionNames<RestartOptions>)
    checkChoice('keys', options.keys, ['kept', 'lost'])
    if (options.keys === 'lost' && this.#options.log)
      throw new ArgumentError('A node cannot lose the keys of all nodes; delete them, or start a store of another name')
    this.#checkOpen()
    return this.#lives.restart(options.keys)
  }

  dump(): Iterable<DumpLine> {
    return linesFrom(Array.from(this.#engine.records()))
  }

  async load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    const replace = isReplacing(options)
    this.#checkOpen()
    const records = await stage(lines, this.#engine.latestClock(this.#options.clock.now()))
    await this.#lives.settled
    this.#checkOpen()
    const { loaded, versionsKept, expired, deleted } = await restore(this.#life.server, records, replace, this.#options)
    return { loaded, versionsKept, expired, deleted }
  }

  reload(changes: Reloaded): void {
    checkOptionNames('reload', changes, { policy: true, tls: true } satisfies OptionNames<Reloaded>)
    this.#checkOpen()
    const { policy, tls } = changes
    const parsed = policy === undefined ? undefined : policyOf(policy)
    if (parsed && !this.#door.guard?.judges)
      throw new ArgumentError('The store was started without a policy, so it takes none')
    if (tls !== undefined) this.#setTls(tls)
    if (parsed) this.#setPolicy(parsed)
  }

  close(): Promise<void> {
    this.#nodeWatch.stop()
    this.#closed ??= this.#lives.settled.then(() => this.#close())
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #options(): Required<ServeOptions> {
    return this.#lives.options
  }

  get #life(): Life {
    return this.#lives.life
  }

  get #engine(): Opened['engine'] {
    return this.#lives.opened.engine
  }

  #setPolicy(policy: Policy): void {
    this.#door.guard?.setPolicy(policy)
    this.#life.review()
  }

  #setTls(tls: TlsMaterial): void {
    checkNewTls(this.#options.tls, tls)
    this.#lives.options = { ...this.#options, tls }
    this.#life.broker.setTls(tls)
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError('The store is closed; serve another one')
  }

  async #close(): Promise<void> {
    this.#freeze.forget()
    await this.#life.close()
    await this.#storage.release()
    for (const outlet of Object.values(this.#outlets)) outlet.complete()
    this.#door.audit.close()
  }
}
