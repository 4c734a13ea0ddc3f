import { defer, map, Observable, ReplaySubject, share } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { rootCause } from '../../core/util/errors.js'
import type { AttachedState } from '../attach/attached-store.js'
import { type ConsoleStore, isAttached, type StoreWithBroker } from './console-store.js'
import type { AttachedFacts, Clients, StatsSample } from './contract.js'

/** How often there is something new, ms. */
const PERIOD = 1_000
/** Most clients that are told by name. */
const MOST_CLIENTS = 1_000
/** Most nodes. */
const MOST_NODES = 100

type Stats = ConsoleStore['stats']

/** What there is to tell of a second, as lines. */
export interface StatsLines {
  readonly pulse: string
  readonly clients: string
}

/** Moments of a store, the latest at once, then every second. One round of looking, however many look on. */
export const statsLines = (store: ConsoleStore, clock: Clock): Observable<StatsLines> =>
  defer(() => {
    let before = store.stats
    return ticks(clock).pipe(
      map(() => {
        const { stats, clients } = store
        const pulse = pulseOf(store, stats, before, clients.length, clock.now())
        before = stats
        return { pulse: line(pulse), clients: line({ type: 'clients', clients: clients.slice(0, MOST_CLIENTS) }) }
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
      cancel = clock.schedule(PERIOD, tick)
      subscriber.next()
    }
    subscriber.add(() => cancel())
    tick()
  })

function pulseOf(store: ConsoleStore, stats: Stats, before: Stats, clients: number, at: number): StatsSample {
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
    requests: since(before.requests, stats.requests),
    errors: since(before.errors, stats.errors),
    notifications: since(before.notifications, stats.notifications),
    keyspace,
    ...(cluster && { cluster: { ...cluster, nodes: cluster.nodes.slice(0, MOST_NODES) } }),
  }
}

/** What is known of who is there, with a broker of one's own. */
function connectionsOf({ stats, frozenUntil }: StoreWithBroker) {
  const { connections, networkConnections, refusedConnections, refusedLogins } = stats
  const counts = { connections, networkConnections, refusedConnections, refusedLogins }
  return { ...counts, ...(frozenUntil !== undefined && { frozenUntil }) }
}

// A restart begins to count anew.
const since = (before: number, now: number): number => (now < before ? now : now - before)

const line = (members: StatsSample | Clients): string => `${JSON.stringify(members)}\n`

/** What an attached store does at its broker, for people. */
export function attachedFacts(now: AttachedState): AttachedFacts {
  const { state } = now
  if (state === 'serving' || state === 'standby') return { state }
  if (state === 'connecting') return { state, why: 'The store is on its way to its broker' }
  if (state === 'reconnecting') return { state, why: `The store cannot reach its broker: ${rootCause(now.cause)}` }
  return { state, why: now.cause ? `The store has stopped: ${rootCause(now.cause)}` : 'The store has stopped' }
}
