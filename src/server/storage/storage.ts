import { resolve } from 'node:path'
import { firstValueFrom, lastValueFrom, map, merge, NEVER, type Observable, type Subscription } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, StateStoreError } from '../../core/util/errors.js'
import { Engine, type EngineOptions, type KeyRights, type WatchQuotas } from '../engine/engine.js'
import { degraded } from '../log/cluster/errors.js'
import { type OpenedNode, openNode } from '../log/cluster/open.js'
import type { LogEvents, SharedLog } from '../log/cluster/settings.js'
import type { Stream, StreamBounds } from '../log/cluster/stream.js'
import { directoryFiles, guardedFiles } from '../log/disk/files.js'
import { lockDirectory } from '../log/disk/lock.js'
import { eraseLog, openLog, type TakeoverOptions } from '../log/disk/open.js'
import { withReserve } from '../log/disk/reserve.js'
import { type Log, type LogFailure, MemoryLog } from '../log/log.js'
import type { RecoveryProgress } from './storage-options.js'

/** Where a store begins, and where what it does goes. */
export interface OpenedStorage {
  readonly engine: Engine<Client>
  readonly log: Log
  /** Why the log takes nothing as yet, if so: the disk is full. */
  readonly failure?: LogFailure | undefined
  /** The clock of the log, if that has one of its own. */
  readonly clock?: Clock | undefined
  /** The nodes that share the log, as this one sees them. */
  readonly cluster?: (() => ClusterStatus) | undefined
}

/** What opening a storage takes, with all defaults filled in. */
export interface StorageSettings {
  /** A directory, or the empty string for memory alone. */
  readonly data: string
  readonly clock: Clock
  readonly onProgress: (progress: RecoveryProgress) => void
  readonly maxKeys: number
  readonly maxBytes: number
}

/** Who hears of a log that nodes share, and what they have to know of this one. */
export interface NodeHost {
  readonly events: LogEvents
  /** Hears every few seconds how the log is kept: what is wrong with it, or `undefined`. */
  readonly kept: (concern: unknown) => void
  /** Connections at this node. */
  readonly clients: () => number
  /** What is being opened is not wanted any more when this emits; default never. */
  readonly unwanted$?: Observable<unknown> | undefined
}

/** What is kept of a store from one start to the next. */
export interface Storage {
  /** Opens it, or opens it again when the log before is closed. */
  open(): Promise<OpenedStorage>
  /** As {@link open}, with nothing in it. */
  openEmpty(): Promise<OpenedStorage>
  /** It is not used any more. */
  release(): Promise<void>
}

/** A node of a store, as another one knows it. */
export interface ClusterNode {
  readonly id: string
  /** How far it had applied the log when it was heard of last. */
  readonly position: number
  /** Clients that were connected to it then. */
  readonly clients: number
  /** When it was heard of last, by the log's time, ms since the Unix epoch; a node that runs is heard of every 3 s. */
  readonly seenAt: number
}

/** A store of several nodes, as one of them sees it; see {@link StoreServer.cluster}. */
export interface ClusterStatus {
  /** Of the store. */
  readonly name: string
  /** Of this node. */
  readonly nodeId: string
  /** How far this node has applied the log. */
  readonly position: number
  /** By how many messages it is behind what it knows to be in the log. */
  readonly lag: number
  /** Which NATS server leads the log, if that is known. */
  readonly leader: string | undefined
  /** Time of the log, ms since the Unix epoch. */
  readonly time: number
  /**
   * From which position on the log takes only what is signed with the key that nodes share; `undefined` while whoever may
   * publish to it counts as a node.
   */
  readonly signedSince: number | undefined
  /** All nodes that were heard of in the last seven days, this one included. */
  readonly nodes: readonly ClusterNode[]
}

/** What a storage is opened with. */
export interface StorageParts {
  readonly options: StorageSettings & { readonly log: SharedLog | undefined }
  readonly watches: WatchQuotas<Client>
  readonly rights: KeyRights<Client> | undefined
  readonly host: NodeHost
}

/**
 * Memory, the directory that the options name, or the log that nodes share. Raises `in-use`, `damaged`, `format`, the
 * system's error, or, of a log, `connection-lost`, `not-installed` and `closed`.
 */
export async function storageOf({ options, watches, rights, host }: StorageParts): Promise<Storage> {
  const { log, data, maxKeys, maxBytes } = options
  const bounds = { maxKeys, maxBytes, rights, watches }
  if (log !== undefined) return inCluster(log, options, bounds, host)
  return data === '' ? inMemory(bounds) : onDisk(options, bounds, host.events)
}

function inMemory(bounds: EngineOptions<Client>): Storage {
  let kept: Engine<Client> | undefined
  const open = async (engine: Engine<Client>): Promise<OpenedStorage> => {
    kept = engine
    return { engine, log: new MemoryLog() }
  }
  return {
    open: async () => open(kept ?? new Engine(bounds)),
    openEmpty: async () => open(new Engine(bounds)),
    release: async () => undefined,
  }
}

async function onDisk(
  options: StorageSettings,
  bounds: EngineOptions<Client>,
  { failed, troubled }: NodeHost['events'],
): Promise<Storage> {
  const directory = resolve(options.data)
  const lock = await lockDirectory(directory, { onLost: failed, onError: troubled })
  const files = guardedFiles(await directoryFiles(directory), lock)
  const takeover: TakeoverOptions = { isForced: lock.isForced, withReserve: async task => withReserve(directory, task) }
  const { clock, onProgress: progress } = options
  const open = async (): Promise<OpenedStorage> => {
    const { strays, ...opened } = await openLog<Client>(files, {
      ...bounds,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      progress,
      onError: troubled,
      ...takeover,
    })
    warnOfStrays(directory, strays)
    return opened
  }
  return {
    open,
    openEmpty: async () => {
      await eraseLog(files, takeover)
      return open()
    },
    release: async () => lock.release(),
  }
}

function warnOfStrays(directory: string, strays: readonly string[]): void {
  if (strays.length === 0) return
  const names = strays.map(name => JSON.stringify(name)).join(', ')
  process.emitWarning(`${directory} holds ${names}, which no state store made: ignored; move it elsewhere`, {
    code: 'RX_STATESTORE_STRAY_FILE',
  })
}

/** The stream is asked who leads it so often, ms. */
const LOOK = 5_000

const newLife = (): string => toHex(randomBytes(8)).toLowerCase()
/** In [0, 1). */
const random = (): number => (randomBytes(1)[0] ?? 0) / 256

/** A log that nodes share. Raises `in-use` when a node with this id lives, `closed`, and what connecting comes to. */
async function inCluster(
  log: SharedLog,
  { clock, onProgress }: StorageSettings,
  bounds: EngineOptions<Client>,
  { events, kept, clients, unwanted$ = NEVER }: NodeHost,
): Promise<Storage> {
  const { settings } = log
  const unwanted = (): never => {
    throw new ClosedError('The store was closed before the log was open')
  }
  const first = <T>(source$: Observable<T>): Promise<T> => firstValueFrom(merge(source$, unwanted$.pipe(map(unwanted))))
  const stream = await first(log.connect())
  const answering = await claim(stream, settings.nodeId)
  const onlooker = new RemoteApplyListener(stream, clock, kept)
  const open = async (): Promise<OpenedStorage> => {
    const options = { bounds, settings, clock, random, newLife, clients, events, progress: onProgress }
    const node = await first(openNode<Client>(stream, options))
    const logClock: Clock = {
      now: () => node.log.now,
      monotonic: () => clock.monotonic(),
      schedule: (delay, task) => clock.schedule(delay, task),
    }
    return { engine: node.engine, log: node.log, clock: logClock, cluster: () => statusOf(log, node, onlooker.last) }
  }
  return {
    open,
    openEmpty: async () => {
      throw new ArgumentError('One node cannot lose the keys of all')
    },
    release: async () => {
      onlooker.stop()
      answering.unsubscribe()
      await lastValueFrom(stream.close(), { defaultValue: undefined })
    },
  }
}

/** Answers for a node from now on, unless another process does. */
async function claim(stream: Stream, nodeId: string): Promise<Subscription> {
  try {
    const life = await firstValueFrom(stream.ask(nodeId))
    if (life === undefined) return stream.answer(nodeId, newLife()).subscribe()
    throw new StateStoreError('in-use', `a node with the id ${nodeId} runs already: every node needs an id of its own`)
  } catch (error) {
    await lastValueFrom(stream.close(), { defaultValue: undefined })
    throw error
  }
}

function statusOf(
  { name, settings }: SharedLog,
  { replica, log }: OpenedNode<Client>,
  bounds: StreamBounds | undefined,
): ClusterStatus {
  const { position, nodes: table, trust } = replica
  const nodes = Array.from(table.entries(), ([id, { applied, clients, seenAt }]) => ({
    id,
    position: id === settings.nodeId ? position : applied,
    clients,
    seenAt,
  }))
  const lag = Math.max(0, Math.max(bounds?.last ?? 0, log.known) - position)
  const leader = bounds?.leader
  return { name, nodeId: settings.nodeId, position, lag, leader, time: log.now, signedSince: trust.since, nodes }
}

/** Looks at a stream from time to time, for those who want to know how it is. */
class RemoteApplyListener {
  /** What it was like at the last look. */
  last: StreamBounds | undefined
  readonly #stream: Stream
  readonly #clock: Clock
  readonly #kept: (concern: unknown) => void
  /** Whether something was wrong at the last look: a server that begins again is behind for a moment. */
  #wasDegraded = false
  #cancel: () => void
  #looking: Subscription | undefined

  constructor(stream: Stream, clock: Clock, kept: (concern: unknown) => void) {
    this.#kept = kept
    this.#stream = stream
    this.#clock = clock
    this.#cancel = clock.schedule(0, () => this.#look())
  }

  stop(): void {
    this.#cancel()
    this.#looking?.unsubscribe()
  }

  #look(): void {
    this.#looking?.unsubscribe()
    this.#looking = this.#stream.bounds().subscribe({
      next: bounds => {
        this.last = bounds
        const concern = degraded(bounds)
        if (concern === undefined || this.#wasDegraded) this.#kept(concern)
        this.#wasDegraded = concern !== undefined
      },
      // The log itself says when it cannot be reached.
      error: () => {
        this.last = undefined
      },
    })
    this.#cancel = this.#clock.schedule(LOOK, () => this.#look())
  }
}
