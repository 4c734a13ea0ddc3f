export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The description in the exposition and in the documentation. */
  readonly help: string
  readonly unit: 'bytes' | 'seconds' | 'items'
  readonly labels: readonly string[]
  /** What counts or provides the metric: a channel of `rx-statestore/diagnostics`, or a member of the store. */
  readonly source: string
  /** The row of the dashboard. */
  readonly row: 'Requests' | 'Clients' | 'Log' | 'Resources' | 'Process'
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[]
}

/** Seconds, from 50 µs to 10 s. */
const DURATIONS = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10,
]
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]

const REQUEST = 'server:request'
const CONNECTION = 'server:connection'
const PUBLISH = 'server:publish'
const DROP = 'server:drop'
const ACCESS = 'server:access'
const CHANGE = 'server:change'
const LOG = 'log'
const LOOP = 'node:perf_hooks'

type Details = Partial<Pick<MetricDefinition, 'unit' | 'labels' | 'buckets'>>
type Row = MetricDefinition['row']

/** Returns a function that defines metrics of one type. */
const definer =
  <T extends MetricDefinition['type']>(type: T) =>
  (row: Row, source: string, help: string, details: Details = {}): MetricDefinition & { readonly type: T } => ({
    type,
    row,
    source,
    help,
    unit: 'items',
    labels: [],
    ...details,
  })
const counter = definer('counter')
const gauge = definer('gauge')
const histogram = definer('histogram')

/**
 * All metrics. The registry, the table in the documentation and the dashboard are made from this list. Names that
 * begin with `aio_broker_` are those of Azure IoT Operations, whose counters have no suffix `_total`.
 */
export const METRICS = {
  aio_broker_state_store_insertions: counter('Requests', CHANGE, 'Keys that were created, by any node.'),
  aio_broker_state_store_modifications: counter('Requests', CHANGE, 'Changes of existing keys, by any node.'),
  aio_broker_state_store_deletions: counter(
    'Requests',
    REQUEST,
    'Requests to delete a key (DEL, VDEL), including failed ones.',
  ),
  aio_broker_state_store_retrievals: counter(
    'Requests',
    REQUEST,
    'Requests to read a key (GET), including failed ones.',
  ),
  aio_broker_state_store_keynotify_requests: counter(
    'Requests',
    REQUEST,
    'Requests to watch a key or to end a watch (KEYNOTIFY), including failed ones.',
  ),
  aio_broker_state_store_notifications_sent: counter('Requests', CHANGE, 'Notifications of changes sent to clients.'),
  rx_statestore_requests_total: counter(
    'Requests',
    REQUEST,
    'Requests by command and outcome: the type of the reply, rejected, or unknown.',
    { labels: ['command', 'outcome'] },
  ),
  rx_statestore_request_errors_total: counter(
    'Requests',
    REQUEST,
    'Requests that failed, by the code of the error reply or the status of the rejected request.',
    { labels: ['error'] },
  ),
  rx_statestore_request_duration_seconds: histogram(
    'Requests',
    REQUEST,
    'Time from the arrival of a request until its response and notifications are sent.',
    { labels: ['command'], unit: 'seconds', buckets: DURATIONS },
  ),
  rx_statestore_pending_requests: gauge('Requests', REQUEST, 'Requests that have arrived and are not answered yet.'),
  aio_broker_publishes_received: counter('Clients', PUBLISH, 'PUBLISH packets from clients.', { labels: ['category'] }),
  aio_broker_publishes_sent: counter('Clients', PUBLISH, 'PUBLISH packets to clients, counted for each receiver.', {
    labels: ['category'],
  }),
  aio_broker_payload_bytes_received: counter('Clients', PUBLISH, 'Payload bytes of the PUBLISH packets from clients.', {
    labels: ['category'],
    unit: 'bytes',
  }),
  aio_broker_payload_bytes_sent: counter('Clients', PUBLISH, 'Payload bytes of the PUBLISH packets to clients.', {
    labels: ['category'],
    unit: 'bytes',
  }),
  aio_broker_qos0_messages_dropped: counter(
    'Clients',
    DROP,
    'Messages with QoS 0 that were dropped because the client reads too slowly.',
    { labels: ['category', 'direction'] },
  ),
  aio_broker_store_expired_messages: counter('Clients', DROP, 'Messages that expired before they were delivered.'),
  rx_statestore_too_large_messages_total: counter(
    'Clients',
    DROP,
    'Messages that were dropped because they exceed the maximum packet size of the client.',
  ),
  aio_broker_authentication_successes: counter('Clients', ACCESS, 'Accepted logins.', { labels: ['category'] }),
  aio_broker_authentication_deny: counter('Clients', ACCESS, 'Rejected logins. Their category is not known.', {
    labels: ['category'],
  }),
  rx_statestore_token_key_failures_total: counter('Clients', ACCESS, 'Failed attempts to fetch the keys of tokens.'),
  aio_broker_authorization_deny: counter('Clients', ACCESS, 'Actions that the policy denied.', {
    labels: ['category'],
  }),
  rx_statestore_quota_rejections_total: counter('Clients', ACCESS, 'Permitted actions that a quota rejected.', {
    labels: ['action'],
  }),
  aio_broker_store_total_sessions: gauge('Clients', 'store.stats', 'Sessions, including those of offline clients.'),
  aio_broker_store_connected_sessions: gauge('Clients', 'store.stats', 'Sessions whose client is connected.'),
  aio_broker_store_subscriptions: gauge('Clients', 'store.stats', 'Subscriptions, including those of offline clients.'),
  aio_broker_store_shared_subscriptions: gauge(
    'Clients',
    'store.stats',
    'Shared subscriptions, including those of offline clients.',
  ),
  aio_broker_store_retained_messages: gauge('Clients', 'store.stats', 'Retained messages.'),
  aio_broker_store_retained_bytes: gauge('Clients', 'store.stats', 'Memory of the retained messages.', {
    unit: 'bytes',
  }),
  aio_broker_store_will_messages: gauge(
    'Clients',
    'store.stats',
    'Wills of connected clients, and delayed wills of offline clients.',
  ),
  rx_statestore_connections_opened_total: counter('Clients', CONNECTION, 'Connections that were admitted.', {
    labels: ['listener'],
  }),
  rx_statestore_connections_closed_total: counter(
    'Clients',
    CONNECTION,
    'Connections that ended, by the side that closed them.',
    { labels: ['by'] },
  ),
  rx_statestore_connections_cut_total: counter('Clients', CONNECTION, 'Connections that a limit ended.', {
    labels: ['limit'],
  }),
  rx_statestore_handshakes_failed_total: counter('Clients', CONNECTION, 'TLS handshakes that were aborted or failed.', {
    labels: ['listener'],
  }),
  rx_statestore_storage_state: gauge('Log', 'store.storage', '1 for the current state of the storage, otherwise 0.', {
    labels: ['state'],
  }),
  rx_statestore_log_position: gauge(
    'Log',
    LOG,
    'Position of the log that this node has applied, or that is flushed to disk.',
  ),
  rx_statestore_log_lag_entries: gauge(
    'Log',
    'store.cluster',
    'Messages of the shared log that this node has not applied yet.',
  ),
  rx_statestore_log_commit_duration_seconds: histogram(
    'Log',
    LOG,
    'Time from the append of an entry until it is durable.',
    { unit: 'seconds', buckets: DURATIONS },
  ),
  rx_statestore_log_flush_duration_seconds: histogram('Log', LOG, 'Time to write an entry to the disk and flush it.', {
    unit: 'seconds',
    buckets: DURATIONS,
  }),
  rx_statestore_log_entry_commands: histogram('Log', LOG, 'Commands in an entry of this node.', {
    buckets: BATCH_SIZES,
  }),
  rx_statestore_log_written_bytes_total: counter('Log', LOG, 'Bytes of log entries written to the disk.', {
    unit: 'bytes',
  }),
  rx_statestore_log_rejected_total: counter('Log', LOG, 'Entries that the log rejected.', { labels: ['problem'] }),
  rx_statestore_log_snapshots_total: counter('Log', LOG, 'Snapshots written.'),
  rx_statestore_incomplete_takeovers_total: counter(
    'Resources',
    'rx-statestore:access',
    'Takeovers of an attached store without the keys of the former active store.',
  ),
  rx_statestore_log_snapshots_failed_total: counter('Log', LOG, 'Snapshots that could not be written.'),
  rx_statestore_log_elections_total: counter(
    'Log',
    LOG,
    'Elections of the snapshot writer in which this node took part.',
    { labels: ['result'] },
  ),
  rx_statestore_cluster_nodes: gauge(
    'Log',
    'store.cluster',
    'Nodes of the cluster that sent a message in the last 10 s.',
  ),
  rx_statestore_clock_drift_seconds: gauge(
    'Log',
    'store.drift',
    'Time by which the clock of the machine is behind the time of the store, after it was set back.',
    { unit: 'seconds' },
  ),
  rx_statestore_resource_used: gauge(
    'Resources',
    'store.stats',
    'Usage of a limited resource: keys, bytes, buffered_bytes, connections, subscriptions, watches, retained, retained_bytes.',
    { labels: ['resource'] },
  ),
  rx_statestore_resource_limit: gauge('Resources', 'store.limits', 'Limit of a resource.', { labels: ['resource'] }),
  rx_statestore_principal_used: gauge(
    'Resources',
    'store.usage',
    'Usage of the 50 principals that use most, and of all others together.',
    { labels: ['principal', 'resource'] },
  ),
  rx_statestore_tls_not_after_seconds: gauge(
    'Resources',
    'store.certificateExpiresAt',
    'End of the validity of the certificate, in seconds since the Unix epoch.',
    { unit: 'seconds' },
  ),
  rx_statestore_ready: gauge('Resources', '/readyz', '1 if /readyz succeeds, otherwise 0.'),
  nodejs_eventloop_lag_p50_seconds: gauge('Process', LOOP, 'Median delay of the event loop since the last scrape.', {
    unit: 'seconds',
  }),
  nodejs_eventloop_lag_p99_seconds: gauge('Process', LOOP, '99th percentile of the delay since the last scrape.', {
    unit: 'seconds',
  }),
  nodejs_eventloop_lag_max_seconds: gauge('Process', LOOP, 'Longest delay of the event loop since the last scrape.', {
    unit: 'seconds',
  }),
  process_resident_memory_bytes: gauge('Process', 'node:process', 'Resident memory of the process.', { unit: 'bytes' }),
  process_open_fds: gauge('Process', '/proc', 'Open file descriptors of the process. On Linux.'),
  process_max_fds: gauge('Process', '/proc', 'Maximum number of open file descriptors. On Linux.'),
  process_cpu_seconds_total: counter('Process', 'node:process', 'CPU time of the process, user and system.', {
    unit: 'seconds',
  }),
  process_start_time_seconds: gauge(
    'Process',
    'node:process',
    'Start of the process, in seconds since the Unix epoch.',
    { unit: 'seconds' },
  ),
  rx_statestore_build_info: gauge('Process', 'package.json', 'Always 1. The version is in the label.', {
    labels: ['version'],
  }),
} as const satisfies Readonly<Record<string, MetricDefinition>>

type Names<T extends MetricDefinition['type']> = {
  [K in keyof typeof METRICS]: (typeof METRICS)[K]['type'] extends T ? K : never
}[keyof typeof METRICS]

export type SampledName = Names<'counter' | 'gauge'>
export type HistogramName = Names<'histogram'>
