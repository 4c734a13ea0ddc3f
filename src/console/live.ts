import { defer, map, Observable, ReplaySubject, share } from 'rxjs'
import type { Clock } from '../base/clock.js'
import type { RunningStore, StoreStats } from '../standalone.js'
import type { Clients, Pulse } from './contract.js'

/** How often there is something new, ms. */
const PERIOD = 1_000
/** Most clients that are told by name. */
const MOST_CLIENTS = 1_000
/** Most nodes. */
const MOST_NODES = 100

/** What there is to tell of a second, as lines. */
export interface Moment {
  readonly pulse: string
  readonly clients: string
}

/** Moments of a store, the latest at once, then every second. One round of looking, however many look on. */
export const moments = (store: RunningStore, clock: Clock): Observable<Moment> =>
  defer(() => {
    let before = store.stats
    return ticks(clock).pipe(
      map(() => {
        const stats = store.stats
        const moment = { pulse: line(pulseOf(store, stats, before, clock.now())), clients: line(clientsOf(store)) }
        before = stats
        return moment
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

function pulseOf(store: RunningStore, stats: StoreStats, before: StoreStats, at: number): Pulse {
  const { keys, watches, connections, networkConnections, refusedConnections, refusedLogins } = stats
  const { startedAt, frozenUntil, drift, keyspace, cluster } = store
  return {
    type: 'pulse',
    at,
    startedAt,
    ...(frozenUntil !== undefined && { frozenUntil }),
    ...(drift > 0 && { drift }),
    keys,
    watches,
    connections,
    networkConnections,
    refusedConnections,
    refusedLogins,
    requests: since(before.requests, stats.requests),
    errors: since(before.errors, stats.errors),
    notifications: since(before.notifications, stats.notifications),
    keyspace,
    ...(cluster && { cluster: { ...cluster, nodes: cluster.nodes.slice(0, MOST_NODES) } }),
  }
}

// A restart begins to count anew.
const since = (before: number, now: number): number => (now < before ? now : now - before)

const clientsOf = (store: RunningStore): Clients => ({ type: 'clients', clients: store.clients.slice(0, MOST_CLIENTS) })

const line = (members: Pulse | Clients): string => `${JSON.stringify(members)}\n`
