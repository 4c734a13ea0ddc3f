import { concat, defer, type Observable, of, Subject } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { rootCause } from '../../core/util/errors.js'
import type { AttachedState } from '../attach/attached-store.js'
import { type ConsoleStore, isAttached, type StoreWithBroker } from './console-store.js'
import type { AttachedFacts, Clients, Rates, StatsSample } from './contract.js'

const PERIOD_MS = 1_000
/** The number of kept rates: two minutes, as in the page's charts. */
const MAX_RATES = 120
const MAX_CLIENTS = 1_000
const MAX_NODES = 100

type Stats = ConsoleStore['stats']

export interface StatsLines {
  readonly sample: string
  readonly clients: string
}

/** The counts of one second. */
type SecondCounts = Pick<StatsSample, 'requests' | 'errors' | 'notifications'>

const NO_COUNTS: SecondCounts = { requests: 0, errors: 0, notifications: 0 }

/**
 * Samples a store every second. The rates of the last two minutes are kept even without a subscriber, so that charts
 * are filled when a page opens.
 */
export class StatsSampler {
  /** Emits the kept rates with a sample on subscription, and then a sample every second. Completes on {@link close}. */
  readonly lines$: Observable<StatsLines>
  readonly #store: ConsoleStore
  readonly #clock: Clock
  readonly #samples$ = new Subject<StatsLines>()
  #counts: readonly SecondCounts[] = []
  #previous: Stats
  #cancel: () => void

  constructor(store: ConsoleStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#previous = store.stats
    this.#cancel = clock.schedule(PERIOD_MS, () => this.#tick())
    this.lines$ = defer(() => concat(of(this.#firstLines()), this.#samples$))
  }

  close(): void {
    this.#cancel()
    this.#samples$.complete()
  }

  #tick(): void {
    this.#cancel = this.#clock.schedule(PERIOD_MS, () => this.#tick())
    const { stats } = this.#store
    this.#counts = [...this.#counts.slice(1 - MAX_RATES), countsSince(this.#previous, stats)]
    this.#previous = stats
    if (this.#samples$.observed) this.#samples$.next(this.#sampleLines())
  }

  #firstLines(): StatsLines {
    const { sample, clients } = this.#sampleLines()
    // The sample contains the counts of the last second.
    const earlier = this.#counts.slice(0, -1)
    return { sample: earlier.length === 0 ? sample : line(ratesOf(earlier)) + sample, clients }
  }

  #sampleLines(): StatsLines {
    const { clients } = this.#store
    const sample = sampleOf(this.#store, this.#counts.at(-1) ?? NO_COUNTS, clients.length, this.#clock.now())
    return { sample: line(sample), clients: line({ type: 'clients', clients: clients.slice(0, MAX_CLIENTS) }) }
  }
}

const ratesOf = (counts: readonly SecondCounts[]): Rates => ({
  type: 'rates',
  requests: counts.map(({ requests }) => requests),
  errors: counts.map(({ errors }) => errors),
  notifications: counts.map(({ notifications }) => notifications),
})

const countsSince = (previous: Stats, now: Stats): SecondCounts => ({
  requests: increase(previous.requests, now.requests),
  errors: increase(previous.errors, now.errors),
  notifications: increase(previous.notifications, now.notifications),
})

function sampleOf(store: ConsoleStore, counts: SecondCounts, clients: number, at: number): StatsSample {
  const { startedAt, drift, keyspace, cluster, stats, storage } = store
  const { keys, watches } = stats
  return {
    type: 'pulse',
    at,
    ...(startedAt !== undefined && { startedAt }),
    ...(startedAt !== undefined && storage.state === 'waiting' && { isWaitingForLog: true as const }),
    ...(drift > 0 && { drift }),
    keys,
    watches,
    ...(isAttached(store) ? { connections: clients, attached: attachedFacts(store.state) } : connectionsOf(store)),
    ...counts,
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

/** Returns the increase of a counter. A lower count means that the counters have restarted with the store. */
export const increase = (previous: number, now: number): number => (now < previous ? now : now - previous)

const line = (members: Rates | StatsSample | Clients): string => `${JSON.stringify(members)}\n`

export function attachedFacts(now: AttachedState): AttachedFacts {
  const { state } = now
  if (state === 'serving' || state === 'standby') return { state }
  if (state === 'connecting') return { state, why: 'Connecting to the broker' }
  if (state === 'reconnecting') return { state, why: `Cannot reach the broker: ${rootCause(now.cause)}` }
  return { state, why: now.cause ? `The store has stopped: ${rootCause(now.cause)}` : 'The store has stopped' }
}
