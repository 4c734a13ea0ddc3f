import { type Observable, type Subscription, skip } from 'rxjs'
import { checkChoice, checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, reason, shown } from '../../core/util/errors.js'
import type { DumpLine } from '../../node/dump/codec.js'
import type { AuditEvent } from '../../node/net/audit.js'
import type { TlsMaterial } from '../../node/net/tls.js'
import type { Policy } from '../access/policy.js'
import type { RequestReport } from '../service/state-store-server.js'
import { type ClusterStatus, type Opened, type Storage, storageOf } from '../storage/storage.js'
import { watchQuotas } from './broker-quotas.js'
import { type Door, doorOf, rightsOf } from './door.js'
import type { Life } from './life.js'
import { Lives } from './lives.js'
import type { ServeOptions } from './options.js'
import { begin, KEPT, keptTo, type LogEvent, logEventsTo, newOutlets, type Outlets } from './outlets.js'
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

/** A node that could not be opened anew is tried again, ms. */
const RETRY = 5_000

/** Does what becomes of a log that nodes share asks for: clients are sent away or let in again, the node is opened anew. */
export class NodeWatch {
  readonly #outlets: Outlets
  readonly #lives: Lives
  readonly #subscription: Subscription
  #cancel: () => void = () => undefined

  constructor(outlets: Outlets, lives: Lives) {
    this.#outlets = outlets
    this.#lives = lives
    this.#subscription = outlets.log$.subscribe(event => {
      if (event !== undefined) this.#take(event)
    })
    this.#subscription.add(outlets.concern$.subscribe(concern => this.#tellKept(concern)))
  }

  stop(): void {
    this.#cancel()
    this.#subscription.unsubscribe()
  }

  #take(event: LogEvent): void {
    const { storage$ } = this.#outlets
    if (event.type === 'outrun') this.#open()
    else if (event.type === 'failed') this.#fail(event.error)
    else if (event.availability === 'kept') {
      this.#lives.life.away = undefined
      storage$.next(KEPT)
    } else {
      if (event.availability === 'away') this.#lives.life.away = 'the log of the store cannot be reached'
      if (storage$.value.state !== 'waiting') storage$.next({ state: 'waiting', error: event.cause })
    }
  }

  /** What is worse is said already. */
  #tellKept(concern: unknown): void {
    const { storage$ } = this.#outlets
    const { state, error } = storage$.value
    if (state !== 'kept' && state !== 'degraded') return
    if (concern === undefined && state === 'degraded') storage$.next(KEPT)
    if (concern !== undefined && (state === 'kept' || reason(concern) !== reason(error)))
      storage$.next({ state: 'degraded', error: concern })
  }

  #open(): void {
    this.#lives.life.away = 'this node has to catch up'
    this.#lives.restart('kept').catch(error => {
      this.#fail(error)
      this.#cancel = systemClock.schedule(RETRY, () => this.#open())
    })
  }

  #fail(error: unknown): void {
    this.#lives.life.away = 'this store has stopped'
    this.#outlets.storage$.next({ state: 'broken', error })
  }
}

/** Where clients find a store. */
export interface StoreUrls {
  /** Over TCP. */
  readonly url: string
  /** Over WebSocket. */
  readonly wsUrl: string
}

/** The URLs of a store that listens at these ports. */
export function urlsOf(
  { host, tls }: Required<Pick<ServeOptions, 'host' | 'tls'>>,
  { port, wsPort }: { readonly port: number; readonly wsPort: number },
): StoreUrls {
  const s = tls === undefined ? '' : 's'
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `mqtt${s}://${name}:${port}`, wsUrl: `ws${s}://${name}:${wsPort}` }
}

/** Lets a store stand still for a while. */
export class Freeze {
  readonly #clock: Clock
  readonly #life: () => Life
  #until: number | undefined
  #cancel: () => void = () => undefined

  /** @param life - the one that is being lived */
  constructor(clock: Clock, life: () => Life) {
    this.#clock = clock
    this.#life = life
  }

  /** When it moves again, ms since the Unix epoch; `undefined` when it moves. */
  get until(): number | undefined {
    return this.#until
  }

  /** From now on nothing moves for so many ms, however long it was to stand still before; 0 lets it move again. */
  begin(ms: number): void {
    this.#cancel()
    if (ms === 0) {
      this.#end()
      return
    }
    this.#until = this.#clock.now() + ms
    this.#life().freeze()
    this.#cancel = this.#clock.schedule(ms, () => this.#end())
  }

  /** The life that stood still is over. */
  forget(): void {
    this.#cancel()
    this.#until = undefined
  }

  #end(): void {
    this.#until = undefined
    this.#life().thaw()
  }
}

/** Throws {@link ArgumentError} unless it is a time to stand still, ms. */
export function checkFreeze(ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 0) return
  throw new ArgumentError(`Expected \`ms\` to be a whole number from 0, got \`${shown(ms)}\` (${typeof ms})`)
}
