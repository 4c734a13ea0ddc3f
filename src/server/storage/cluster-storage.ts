import { firstValueFrom, lastValueFrom, map, merge, NEVER, type Observable, type Subscription } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import { randomBytes, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { EngineOptions } from '../engine/engine.js'
import { degraded } from '../log/cluster/errors.js'
import { type OpenedNode, openNode } from '../log/cluster/open.js'
import type { SharedLog } from '../log/cluster/settings.js'
import type { Stream, StreamBounds } from '../log/cluster/stream.js'
import type { ClusterStatus } from './cluster-status.js'
import type { NodeHost, Opened, Storage, StorageSettings } from './opened.js'

/** The stream is asked who leads it so often, ms. */
const LOOK = 5_000

const newLife = (): string => toHex(randomBytes(8)).toLowerCase()
/** In [0, 1). */
const random = (): number => (randomBytes(1)[0] ?? 0) / 256

/** A log that nodes share. Raises `in-use` when a node with this id lives, `closed`, and what connecting comes to. */
export async function inCluster(
  log: SharedLog,
  { clock, opening }: StorageSettings,
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
  const onlooker = new Onlooker(stream, clock, kept)
  const open = async (): Promise<Opened> => {
    const options = { bounds, settings, clock, random, newLife, clients, events, progress: opening }
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
  const { position, members, trust } = replica
  const nodes = Array.from(members.entries(), ([id, { applied, clients, seenAt }]) => ({
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
class Onlooker {
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
