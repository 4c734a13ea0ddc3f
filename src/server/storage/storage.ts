import { resolve } from 'node:path'
import { firstValueFrom, lastValueFrom, map, merge, NEVER, type Observable, type Subscription } from 'rxjs'
import { MAX_DRIFT_MS } from '../../core/hlc/hlc.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, StateStoreError } from '../../core/util/errors.js'
import { Engine, type EngineOptions, type KeyRights, type WatchQuotas } from '../engine/engine.js'
import { degradedError } from '../log/cluster/errors.js'
import { type OpenedNode, openNode } from '../log/cluster/open.js'
import type { LogEvents, SharedLog } from '../log/cluster/settings.js'
import type { Stream, StreamBounds } from '../log/cluster/stream.js'
import { directoryFiles, guardedFiles } from '../log/disk/files.js'
import { lockDirectory } from '../log/disk/lock.js'
import { eraseLog, openLog, type TakeoverOptions } from '../log/disk/open.js'
import { hasReserve, removeReserve, withReserve } from '../log/disk/reserve.js'
import { type Log, type LogFailure, MemoryLog } from '../log/log.js'
import { StoreClock, type StoreTime } from '../service/store-clock.js'
import { checkDirectoryPath, type RecoveryProgress } from './storage-options.js'

export interface OpenedStorage {
  readonly engine: Engine<Client>
  readonly log: Log
  /** Why the log accepts no entries yet. Set if the disk was full when the storage was opened. */
  readonly failure?: LogFailure | undefined
  /** The store's time: that of a shared log, or the machine's clock while it is not set back. */
  readonly clock: StoreTime
  readonly cluster?: (() => ClusterStatus) | undefined
}

export interface StorageSettings {
  /** The directory, or an empty string for a store only in memory. */
  readonly data: string
  readonly clock: Clock
  readonly onProgress: (progress: RecoveryProgress) => void
  readonly maxKeys: number
  readonly maxBytes: number
}

/** Receives the events of a shared log, and provides this node's state. */
export interface NodeHost {
  readonly events: LogEvents
  /** Called every few seconds with a problem of the log's replication, or with `undefined` if there is none. */
  readonly onLogHealth: (problem: unknown) => void
  readonly countClients: () => number
  /** Cancels an opening in progress when it emits. Default: never. */
  readonly cancelled$?: Observable<unknown> | undefined
}

export interface Storage {
  /** Opens the storage, or reopens it after the previous log was closed. */
  open(): Promise<OpenedStorage>
  /** Deletes all content, then opens the storage as {@link open} does. */
  openEmpty(): Promise<OpenedStorage>
  /** Closes the storage permanently, and releases its lock or connection. */
  release(): Promise<void>
}

/** A node of a store, as seen by another node. */
export interface ClusterNode {
  readonly id: string
  /** The position that the node had applied when it sent its last message. */
  readonly position: number
  /** The number of the node's clients at that time. */
  readonly clients: number
  /**
   * The log time of the node's last message, in ms since the Unix epoch. A running node sends a message at least every
   * 3 s.
   */
  readonly seenAt: number
}

/** A cluster as seen by one of its nodes. See {@link StoreServer.cluster}. */
export interface ClusterStatus {
  readonly name: string
  readonly nodeId: string
  /** The position that this node has applied. */
  readonly position: number
  /** The number of messages in the log, as far as known, that this node has not applied yet. */
  readonly lag: number
  /** The NATS server that leads the log, if known. */
  readonly leader: string | undefined
  /** The log time, in ms since the Unix epoch. */
  readonly time: number
  /**
   * The position from which the log accepts only messages signed with the nodes' key, or `undefined` while any
   * permitted publisher counts as a node.
   */
  readonly signedSince: number | undefined
  /** All nodes that were active in the last seven days, including this one. */
  readonly nodes: readonly ClusterNode[]
}

export interface StorageParts {
  readonly options: StorageSettings & { readonly log: SharedLog | undefined }
  readonly watches: WatchQuotas<Client>
  readonly rights: KeyRights<Client> | undefined
  readonly host: NodeHost
}

/**
 * Creates the storage that the options name: memory, a directory, or a shared log. Rejects with `in-use`, `damaged`,
 * `format` or a system error, and for a log also with `connection-lost`, `not-installed` or `closed`.
 */
export async function createStorage({ options, watches, rights, host }: StorageParts): Promise<Storage> {
  const { log, data, maxKeys, maxBytes } = options
  const limits = { maxKeys, maxBytes, rights, watches }
  if (log !== undefined) return clusterStorage(log, options, limits, host)
  return data === '' ? memoryStorage(limits, options.clock) : openDirectory(options, limits, host.events)
}

function memoryStorage(limits: EngineOptions<Client>, machineClock: Clock): Storage {
  const clock = new StoreClock(machineClock)
  let current: Engine<Client> | undefined
  const open = async (engine: Engine<Client>): Promise<OpenedStorage> => {
    current = engine
    return { engine, log: new MemoryLog(), clock }
  }
  return {
    open: async () => open(current ?? new Engine(limits)),
    openEmpty: async () => {
      clock.reset()
      return open(new Engine(limits))
    },
    release: async () => undefined,
  }
}

/**
 * Locks a directory. Rejects with {@link ArgumentError} for an empty path, `in-use` or a system error. {@link Storage.open} rejects with `damaged` or `format`.
 */
export async function openDirectory(
  options: Pick<StorageSettings, 'data' | 'clock' | 'onProgress'>,
  limits: EngineOptions<Client>,
  { onFailed, onError }: Pick<LogEvents, 'onFailed' | 'onError'>,
): Promise<Storage> {
  checkDirectoryPath(options.data)
  const directory = resolve(options.data)
  const hadReserve = await hasReserve(directory)
  const lock = await lockDirectory(directory, { onLost: onFailed, onError })
  const files = guardedFiles(await directoryFiles(directory), lock)
  const takeover: TakeoverOptions = { isForced: lock.isForced, withReserve: async task => withReserve(directory, task) }
  const { onProgress: progress } = options
  const clock = new StoreClock(options.clock)
  const open = async (): Promise<OpenedStorage> => {
    const { strays, ...opened } = await openLog<Client>(files, {
      ...limits,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      progress,
      onError,
      ...takeover,
    }).catch(async (error: unknown) => {
      // A directory of another program stays unchanged.
      if (!hadReserve && error instanceof StateStoreError && error.code === 'format') await removeReserve(directory)
      throw error
    })
    warnAboutStrays(directory, strays)
    clock.continueFrom(opened.engine.lastVersion.wallClock)
    return { ...opened, clock }
  }
  return {
    open,
    openEmpty: async () => {
      await eraseLog(files, takeover)
      clock.reset()
      return open()
    },
    release: async () => lock.release(),
  }
}

function warnAboutStrays(directory: string, strays: readonly string[]): void {
  if (strays.length === 0) return
  const names = strays.map(name => JSON.stringify(name)).join(', ')
  process.emitWarning(`${directory} contains ${names}, which no state store created: ignored; move it elsewhere`, {
    code: 'RX_STATESTORE_STRAY_FILE',
  })
}

const HEALTH_POLL_MS = 5_000

const newEpochId = (): string => toHex(randomBytes(8)).toLowerCase()
/** Returns a number in [0, 1). */
const random = (): number => (randomBytes(1)[0] ?? 0) / 256

/**
 * Opens a log that several nodes share. Rejects with `in-use` if a node with this id is running, with
 * `closed` if the opening is cancelled, or with a connection error.
 */
async function clusterStorage(
  log: SharedLog,
  { clock, onProgress }: StorageSettings,
  limits: EngineOptions<Client>,
  { events, onLogHealth, countClients, cancelled$ = NEVER }: NodeHost,
): Promise<Storage> {
  const { settings } = log
  const throwClosed = (): never => {
    throw new ClosedError('The store was closed before its log was open')
  }
  const firstUnlessCancelled = <T>(source$: Observable<T>): Promise<T> =>
    firstValueFrom(merge(source$, cancelled$.pipe(map(throwClosed))))
  const stream = await firstUnlessCancelled(log.connect())
  const registration = await claimNodeId(stream, settings.nodeId)
  const poller = new StreamHealthPoller(stream, clock, onLogHealth)
  const open = async (): Promise<OpenedStorage> => {
    const options = { limits, settings, clock, random, newEpochId, countClients, events, onProgress }
    const node = await firstUnlessCancelled(openNode<Client>(stream, options))
    const logClock: StoreTime = {
      now: () => node.log.now,
      get setBackMs() {
        const behindMs = node.log.now - clock.now()
        return behindMs > MAX_DRIFT_MS ? behindMs : 0
      },
      monotonic: () => clock.monotonic(),
      schedule: (delay, task) => clock.schedule(delay, task),
    }
    return {
      engine: node.engine,
      log: node.log,
      clock: logClock,
      cluster: () => clusterStatus(log, node, poller.lastBounds),
    }
  }
  return {
    open,
    openEmpty: async () => {
      throw new ArgumentError('A node of a cluster cannot delete the keys of all nodes')
    },
    release: async () => {
      poller.stop()
      registration.unsubscribe()
      await lastValueFrom(stream.close(), { defaultValue: undefined })
    },
  }
}

/** Registers this process as the node `nodeId`. Rejects with `in-use` if another process is registered. */
async function claimNodeId(stream: Stream, nodeId: string): Promise<Subscription> {
  try {
    const instanceId = await firstValueFrom(stream.queryNode(nodeId))
    if (instanceId === undefined) return stream.respondForNode(nodeId, newEpochId()).subscribe()
    throw new StateStoreError('in-use', `a node with the id ${nodeId} already runs: give every node a unique id`)
  } catch (error) {
    await lastValueFrom(stream.close(), { defaultValue: undefined })
    throw error
  }
}

function clusterStatus(
  { name, settings }: SharedLog,
  { judge, log }: OpenedNode<Client>,
  bounds: StreamBounds | undefined,
): ClusterStatus {
  const { position, nodes: table, signingPolicy } = judge
  const nodes = Array.from(table.entries(), ([id, { appliedPosition: applied, clientCount: clients, seenAt }]) => ({
    id,
    position: id === settings.nodeId ? position : applied,
    clients,
    seenAt,
  }))
  const lag = Math.max(0, Math.max(bounds?.last ?? 0, log.knownEnd) - position)
  const leader = bounds?.leader
  return {
    name,
    nodeId: settings.nodeId,
    position,
    lag,
    leader,
    time: log.now,
    signedSince: signingPolicy.signedSince,
    nodes,
  }
}

class StreamHealthPoller {
  lastBounds: StreamBounds | undefined
  readonly #stream: Stream
  readonly #clock: Clock
  readonly #onHealth: (problem: unknown) => void
  /**
   * Whether the last poll found a problem. A single problem is not reported, because a restarting server lags briefly.
   */
  #wasDegraded = false
  #cancel: () => void
  #request: Subscription | undefined

  constructor(stream: Stream, clock: Clock, onHealth: (problem: unknown) => void) {
    this.#onHealth = onHealth
    this.#stream = stream
    this.#clock = clock
    this.#cancel = clock.schedule(0, () => this.#poll())
  }

  stop(): void {
    this.#cancel()
    this.#request?.unsubscribe()
  }

  #poll(): void {
    this.#request?.unsubscribe()
    this.#request = this.#stream.bounds().subscribe({
      next: bounds => {
        this.lastBounds = bounds
        const problem = degradedError(bounds)
        if (problem === undefined || this.#wasDegraded) this.#onHealth(problem)
        this.#wasDegraded = problem !== undefined
      },
      // No problem is reported here, because the log itself reports that it is unreachable.
      error: () => {
        this.lastBounds = undefined
      },
    })
    this.#cancel = this.#clock.schedule(HEALTH_POLL_MS, () => this.#poll())
  }
}
