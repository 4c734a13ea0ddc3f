import type { Clock } from '../../core/util/clock.js'
import { countOpenDescriptors, maxOpenDescriptors } from '../../node/net/descriptors.js'
import type { Usage } from '../host/usage.js'
import type { ClusterStatus } from '../storage/storage.js'
import { EventLoopDelay } from './event-loop-delay.js'
import { failuresOf, healthOf, type MonitoredStore, type StoreAtBroker, type StoreWithBroker } from './health.js'
import type { Sample } from './registry.js'

/** The limit on principals with separate samples. */
const MAX_PRINCIPALS = 50
/** The time after its last message for which a node counts as present. A running node sends one every 3 s. */
const NODE_TIMEOUT_MS = 10_000
const STATES = ['kept', 'full', 'broken', 'waiting', 'degraded'] as const

/** Returns the values that a store with a broker has at the moment. */
export function storeSamples(store: StoreWithBroker, version: string) {
  const { stats, limits, usage, certificateExpiresAt } = store
  const { sessions, connections, subscriptions, sharedSubscriptions, retained, retainedBytes, wills } = stats
  return {
    ...commonSamples(store, version),
    aio_broker_store_total_sessions: [[sessions]],
    aio_broker_store_connected_sessions: [[connections]],
    aio_broker_store_subscriptions: [[subscriptions]],
    aio_broker_store_shared_subscriptions: [[sharedSubscriptions]],
    aio_broker_store_retained_messages: [[retained]],
    aio_broker_store_retained_bytes: [[retainedBytes]],
    aio_broker_store_will_messages: [[wills]],
    rx_statestore_resource_used: byResource({ ...stats, connections: stats.networkConnections }),
    rx_statestore_resource_limit: byResource(limits),
    rx_statestore_principal_used: principalSamples(usage),
    rx_statestore_tls_not_after_seconds: certificateExpiresAt === undefined ? [] : [[certificateExpiresAt / 1_000]],
  } as const satisfies Record<string, readonly Sample[]>
}

/** Returns the values that a store at another broker has at the moment. */
export function attachedSamples(store: StoreAtBroker, version: string) {
  const { keys, bytes, watches } = store.stats
  return {
    ...commonSamples(store, version),
    rx_statestore_resource_used: samplesOf({ keys, bytes, watches }),
    rx_statestore_resource_limit: samplesOf({ ...store.limits }),
  } as const satisfies Record<string, readonly Sample[]>
}

function commonSamples(store: MonitoredStore, version: string) {
  const { storage, cluster, drift } = store
  return {
    rx_statestore_storage_state: STATES.map(state => [state === storage.state ? 1 : 0, { state }] as const),
    rx_statestore_log_lag_entries: cluster === undefined ? [] : [[cluster.lag]],
    rx_statestore_cluster_nodes: cluster === undefined ? [] : [[countPresentNodes(cluster)]],
    rx_statestore_clock_drift_seconds: [[drift / 1_000]],
    rx_statestore_ready: [[failuresOf(healthOf(store, version)).length === 0 ? 1 : 0]],
    rx_statestore_build_info: [[1, { version }]],
  } as const satisfies Record<string, readonly Sample[]>
}

/** Returns the number of nodes that sent a message in the last 10 s. */
export const countPresentNodes = ({ nodes, time }: ClusterStatus): number =>
  nodes.filter(({ seenAt }) => seenAt > time - NODE_TIMEOUT_MS).length

function byResource({
  keys,
  bytes,
  bufferedBytes,
  connections,
  subscriptions,
  watches,
  retained,
  retainedBytes,
}: StoreWithBroker['limits']): readonly Sample[] {
  const counts = { keys, bytes, connections, subscriptions, watches, retained }
  return samplesOf({ ...counts, buffered_bytes: bufferedBytes, retained_bytes: retainedBytes })
}

const samplesOf = (values: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(values).map(([resource, value]) => [value, { resource }])

/** The approximate memory in bytes of an item whose size is not counted. */
const ITEM_BYTES = 600

const weightOf = ({ bytes, retainedBytes, waitingBytes, watches, subscriptions, connections }: Usage): number =>
  bytes + retainedBytes + waitingBytes + ITEM_BYTES * (watches + subscriptions + connections)

/** Returns the usage of the principals that use most memory. The others share the principal `other`. */
function principalSamples(usage: Iterable<Usage>): readonly Sample[] {
  const principals = [...usage].sort((a, b) => weightOf(b) - weightOf(a))
  const sums = new Map<string, number>()
  const samples = principals.flatMap((each, index) => {
    const { connections, subscriptions, watches, keys, bytes, retained, retainedBytes, waitingBytes } = each
    const counts = { connections, subscriptions, watches, keys, bytes, retained }
    const entries = Object.entries({ ...counts, retained_bytes: retainedBytes, waiting_bytes: waitingBytes })
    if (index < MAX_PRINCIPALS)
      return entries.map(([resource, value]): Sample => [value, { principal: each.principal, resource }])
    for (const [resource, value] of entries) sums.set(resource, (sums.get(resource) ?? 0) + value)
    return []
  })
  return [...samples, ...Array.from(sums, ([resource, value]): Sample => [value, { principal: 'other', resource }])]
}

const sampleOf = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [[value]])

/** Measures this process. */
export class ProcessSamples {
  readonly #eventLoop = new EventLoopDelay()
  readonly #startedAt: number

  constructor(clock: Pick<Clock, 'now'>) {
    this.#startedAt = clock.now() / 1_000 - process.uptime()
  }

  samples() {
    const { user, system } = process.cpuUsage()
    const seconds = (percent: number): number => this.#eventLoop.percentile(percent) / 1_000
    const samples = {
      nodejs_eventloop_lag_p50_seconds: [[seconds(50)]],
      nodejs_eventloop_lag_p99_seconds: [[seconds(99)]],
      nodejs_eventloop_lag_max_seconds: [[seconds(100)]],
      process_resident_memory_bytes: [[process.memoryUsage.rss()]],
      process_open_fds: sampleOf(countOpenDescriptors()),
      process_max_fds: sampleOf(maxOpenDescriptors()),
      process_cpu_seconds_total: [[(user + system) / 1e6]],
      process_start_time_seconds: [[this.#startedAt]],
    } as const satisfies Record<string, readonly Sample[]>
    this.#eventLoop.reset()
    return samples
  }

  close(): void {
    this.#eventLoop.close()
  }
}
