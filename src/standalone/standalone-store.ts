import { type Observable, Subject } from 'rxjs'
import { toBinaryString, utf8 } from '../bytes.js'
import { checkObject } from '../check.js'
import { toDumpLine } from '../dump/codec.js'
import type { DumpLine } from '../dump/dump-line.js'
import type { StoredRecord } from '../engine/apply.js'
import { Engine, type Restoration } from '../engine/engine.js'
import { ArgumentError, ClosedError, StateStoreError, shown } from '../errors.js'
import { CommandError } from '../protocol/commands.js'
import type { Connection, RequestReport } from '../server/state-store-server.js'
import { Life } from './life.js'
import { checkChoice, type ServeOptions } from './options.js'
import type {
  ConnectedClient,
  LoadOptions,
  LoadResult,
  RestartOptions,
  RunningStore,
  StoredKey,
  StoreStats,
} from './running-store.js'
import { stage } from './stage.js'

/** One life after the other on the same ports. */
export class StandaloneStore implements RunningStore {
  readonly url: string
  readonly wsUrl: string
  readonly requests$: Observable<RequestReport>
  readonly #options: Required<ServeOptions>
  readonly #requests$: Subject<RequestReport>
  #engine: Engine<Connection>
  #life: Life
  #frozenUntil: number | undefined
  #cancelThaw: () => void = () => undefined
  /** Settles when the last restart is done. */
  #restarted: Promise<void> = Promise.resolve()
  #restarting = false
  #closed: Promise<void> | undefined

  private constructor(
    options: Required<ServeOptions>,
    engine: Engine<Connection>,
    requests$: Subject<RequestReport>,
    life: Life,
  ) {
    const { port, wsPort } = life.broker
    this.url = `mqtt://${urlHost(options.host)}:${port}`
    this.wsUrl = `ws://${urlHost(options.host)}:${wsPort}`
    this.requests$ = requests$.asObservable()
    this.#options = { ...options, port, wsPort }
    this.#requests$ = requests$
    this.#engine = engine
    this.#life = life
  }

  static async start(options: Required<ServeOptions>): Promise<StandaloneStore> {
    const requests$ = new Subject<RequestReport>()
    const engine = new Engine<Connection>(options)
    return new StandaloneStore(options, engine, requests$, await Life.start(options, engine, requests$))
  }

  get startedAt(): number {
    return this.#life.startedAt
  }

  get stats(): StoreStats {
    const { broker, server } = this.#life
    const { size, watchers } = this.#engine
    return { keys: size, watches: watchers.count, connections: broker.connectionCount, ...server.counters }
  }

  get keyspace(): number {
    return this.#engine.keyspace
  }

  get clientIds(): readonly string[] {
    return Array.from(this.#life.broker.connections, connection => connection.clientId)
  }

  get clients(): readonly ConnectedClient[] {
    return this.#life.clients
  }

  get frozenUntil(): number | undefined {
    return this.#frozenUntil
  }

  peek(key: string | Uint8Array): StoredKey | undefined {
    const bytes = typeof key === 'string' ? utf8(key) : key
    const record = this.#engine.peek(bytes)
    if (record === undefined) return undefined
    return {
      value: new Uint8Array(record.value),
      version: String(record.version),
      expiresAt: record.expiresAt,
      fencingToken: record.fencingToken && String(record.fencingToken),
      watchers: this.#engine.watchers.countFor(toBinaryString(bytes)),
    }
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
    if (!Number.isSafeInteger(ms) || ms < 0) {
      throw new ArgumentError(`Expected \`ms\` to be a whole number from 0, got \`${shown(ms)}\` (${typeof ms})`)
    }
    this.#checkOpen()
    if (this.#restarting) throw new ClosedError('The store is being restarted; try again when it listens')
    this.#cancelThaw()
    if (ms === 0) {
      this.#thaw()
      return
    }
    const { clock } = this.#options
    this.#frozenUntil = clock.now() + ms
    this.#life.freeze()
    this.#cancelThaw = clock.schedule(ms, () => this.#thaw())
  }

  async restart(options: RestartOptions): Promise<void> {
    checkObject('options', options)
    const { keys } = options
    checkChoice('keys', keys, ['kept', 'lost'])
    this.#checkOpen()
    const restarted = this.#restarted.then(() => this.#restart(keys))
    // Whoever asked is told; the next one may try.
    this.#restarted = restarted.catch(() => undefined)
    return restarted
  }

  dump(): Iterable<DumpLine> {
    return linesFrom(Array.from(this.#engine.records()))
  }

  async load(
    lines: Iterable<DumpLine | string> | AsyncIterable<DumpLine | string>,
    options: LoadOptions = {},
  ): Promise<LoadResult> {
    checkObject('options', options)
    const { replace = false } = options
    if (typeof replace !== 'boolean') {
      throw new ArgumentError(`Expected \`replace\` to be a boolean, got \`${shown(replace)}\` (${typeof replace})`)
    }
    this.#checkOpen()
    const records = await stage(lines, this.#options.clock.now())
    await this.#restarted
    this.#checkOpen()
    const { loaded, versionsKept, expired, deleted } = this.#restore(records, replace)
    return { loaded, versionsKept, expired, deleted }
  }

  close(): Promise<void> {
    this.#closed ??= this.#restarted.then(() => this.#close())
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError('The store is closed; serve another one')
  }

  #restore(records: Parameters<Engine<Connection>['restore']>[0], replace: boolean): Restoration {
    try {
      return this.#life.server.restore(records, replace)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      const why = `that would be more keys than ${this.#options.maxKeys}, the quota has been exceeded`
      throw new StateStoreError(error.code, `Nothing was loaded: ${why}`)
    }
  }

  async #restart(keys: RestartOptions['keys']): Promise<void> {
    this.#cancelThaw()
    this.#frozenUntil = undefined
    this.#restarting = true
    try {
      await this.#life.die()
      if (keys === 'lost') this.#engine = new Engine<Connection>(this.#options)
      this.#life = await Life.start(this.#options, this.#engine, this.#requests$)
    } finally {
      this.#restarting = false
    }
  }

  async #close(): Promise<void> {
    this.#cancelThaw()
    this.#frozenUntil = undefined
    await this.#life.close()
    this.#requests$.complete()
  }

  #thaw(): void {
    this.#frozenUntil = undefined
    this.#life.thaw()
  }
}

/** One by one: all at once would take the room of the store once more. */
function* linesFrom(records: readonly (readonly [key: Uint8Array, record: StoredRecord])[]): Generator<DumpLine, void> {
  for (const [key, record] of records) yield toDumpLine({ key, ...record })
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
