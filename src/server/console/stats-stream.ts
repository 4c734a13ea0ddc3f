import { defer, map, Observable, ReplaySubject, share } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { rootCause } from '../../core/util/errors.js'
import type { AttachedState } from '../attach/attached-store.js'
import { type ConsoleStore, isAttached, type StoreWithBroker } from './console-store.js'
import type { AttachedFacts, Clients, StatsSample } from './contract.js'

const PERIOD_MS = 1_000
const MAX_CLIENTS = 1_000
const MAX_NODES = 100

type Stats = ConsoleStore['stats']

export interface StatsLines {
  readonly sample: string
  readonly clients: string
}

/** Emits a sample on subscription and then every second. All subscribers share one timer. */
export const statsLines = (store: ConsoleStore, clock: Clock): Observable<StatsLines> =>
  defer(() => {
    let previous = store.stats
    return ticks(clock).pipe(
      map(() => {
        const { stats, clients } = store
        const sample = sampleOf(store, stats, previous, clients.length, clock.now())
        previous = stats
        return { sample: line(sample), clients: line({ type: 'clients', clients: clients.slice(0, MAX_CLIENTS) }) }
      }),
    )
  }).pipe(
    share({
      connector: () => new ReplaySubject(1),
      resetOnRefCountZero: true,
      resetOnComplete: true,
      resetOnError: true,
    }),
  )

const ticks = (clock: Clock): Observable<void> =>
  new Observable(subscriber => {
    let cancel = (): void => undefined
    const tick = (): void => {
      cancel = clock.schedule(PERIOD_MS, tick)
      subscriber.next()
    }
    subscriber.add(() => cancel())
    tick()
  })

function sampleOf(store: ConsoleStore, stats: Stats, previous: Stats, clients: number, at: number): StatsSample {
  const { keys, watches } = stats
  const { startedAt, drift, keyspace, cluster } = store
  return {
    type: 'pulse',
    at,
    ...(startedAt !== undefined && { startedAt }),
    ...(drift > 0 && { drift }),
    keys,
    watches,
    ...(isAttached(store) ? { connections: clients, attached: attachedFacts(store.state) } : connectionsOf(store)),
    requests: increase(previous.requests, stats.requests),
    errors: increase(previous.errors, stats.errors),
    notifications: increase(previous.notifications, stats.notifications),
    keyspace,
    ...(cluster && { cluster: { ...cluster, nodes: cluster.nodes.slice(0, MAX_NODES) } }),
  }
}

/** Returns the connection statistics, which only the store's own broker has. */
function connectionsOf({ stats, frozenUntil }: StoreWithBroker) {
  const { connections, networkConnections, refusedConnections, refusedLogins } = stats
  const counts = { connections, networkConnections, refusedConnections, refusedLogins }
  return { ...counts, ...(frozenUntil !== undefined && { frozenUntil }) }
}

// A lower count means that the counters have restarted with the store.
const increase = (previous: number, now: number): number => (now < previous ? now : now - previous)

const line = (members: StatsSample | Clients): string => `${JSON.stringify(members)}\n`

export function attachedFacts(now: AttachedState): AttachedFacts {
  const { state } = now
  if (state === 'serving' || state === 'standby') return { state }
  if (state === 'connecting') return { state, why: 'Connecting to the broker' }
  if (state === 'reconnecting') return { state, why: `Cannot reach the broker: ${rootCause(now.cause)}` }
  return { state, why: now.cause ? `The store has stopped: ${rootCause(now.cause)}` : 'The store has stopped' }
}
