import {
  type ConnectionLimit,
  type LogEvent,
  type ServerAccessEvent,
  type ServerConnectionEvent,
  type ServerDropEvent,
  type ServerPublishEvent,
  type ServerRequestTrace,
  subscribe,
} from '../../core/diagnostics/index.js'
import type { Clock } from '../../core/util/clock.js'
import type { Distribution, MetricsRegistry, Sample } from './registry.js'

const MAX_CATEGORIES = 1_000
const NO_CATEGORY = 'uncategorized'
/** The category of clients whose own category exceeds the limit or is not a {@link CATEGORY_NAME}. */
const OTHER_CATEGORY = 'other'
/** The names that clients can choose. Longer ones would make the exposition large, because many metrics repeat them. */
const CATEGORY_NAME = /^[\w.:/-]{1,64}$/

/** A command's verb, or `invalid` for a payload that is not a command. */
type CommandName = NonNullable<ServerRequestTrace['verb']> | 'invalid'

/** The counts of the clients of one category. */
interface CategoryCounts {
  readonly name: string
  received: number
  receivedBytes: number
  sent: number
  sentBytes: number
  dropped: number
  logins: number
  denied: number
}

/**
 * Counts the events of all stores of this process. The counts are plain numbers, because every request causes
 * several events.
 */
export class EventCounters {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #durations: Readonly<Record<CommandName, Distribution>>
  readonly #commits: Distribution
  readonly #flushes: Distribution
  readonly #entryCommands: Distribution
  readonly #subscriptions: (() => void)[]
  readonly #categories = new Map<string, CategoryCounts>()
  readonly #categoryByClient = new Map<string, CategoryCounts>()
  readonly #uncategorized = this.#addCategory(NO_CATEGORY)
  readonly #other = this.#addCategory(OTHER_CATEGORY)
  readonly #requests = new Tally('command', [], 'outcome')
  readonly #requestErrors = new Tally('error', ['clock-skew', 'quota-exceeded', 'not-authorized', '503'])
  readonly #opened = new Tally('listener', LISTENERS)
  readonly #closed = new Tally('by', ['client', 'broker', 'network'])
  readonly #cuts = new Tally('limit', LIMITS)
  readonly #handshakes = new Tally('listener', ['mqtts', 'wss', 'console', 'metrics'])
  readonly #quotaRejections = new Tally('action', ['connect', 'publish', 'subscribe', 'read', 'write'])
  readonly #rejectedEntries = new Tally('problem', ['full', 'broken'])
  readonly #elections = new Tally('result', ['elected', 'not-elected'])
  readonly #changes = { inserted: 0, modified: 0, deleted: 0, expired: 0 }
  #pendingRequests = 0
  #notifications = 0
  #deletions = 0
  #retrievals = 0
  #keynotifyRequests = 0
  #rejectedLogins = 0
  #keyFailures = 0
  #expiredMessages = 0
  #tooLargeMessages = 0
  #writtenBytes = 0
  #snapshots = 0
  #failedSnapshots = 0
  #incompleteTakeovers = 0
  #position = 0

  constructor(registry: MetricsRegistry, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
    const duration = (command: CommandName): Distribution =>
      registry.distribution('rx_statestore_request_duration_seconds', command)
    this.#durations = {
      SET: duration('SET'),
      GET: duration('GET'),
      DEL: duration('DEL'),
      VDEL: duration('VDEL'),
      KEYNOTIFY: duration('KEYNOTIFY'),
      SCAN: duration('SCAN'),
      GLOBNOTIFY: duration('GLOBNOTIFY'),
      invalid: duration('invalid'),
    }
    this.#commits = registry.distribution('rx_statestore_log_commit_duration_seconds')
    this.#flushes = registry.distribution('rx_statestore_log_flush_duration_seconds')
    this.#entryCommands = registry.distribution('rx_statestore_log_entry_commands')
    this.#subscriptions = [
      subscribe('tracing:rx-statestore:server:request:start', () => {
        this.#pendingRequests++
      }),
      subscribe('tracing:rx-statestore:server:request:asyncEnd', trace => this.#onRequestEnd(trace)),
      subscribe('rx-statestore:server:change', ({ type, notified }) => {
        this.#changes[type]++
        this.#notifications += notified
      }),
      subscribe('rx-statestore:server:connection', event => this.#onConnection(event)),
      subscribe('rx-statestore:server:publish', event => this.#onPublish(event)),
      subscribe('rx-statestore:server:drop', event => this.#onDrop(event)),
      subscribe('rx-statestore:server:access', event => this.#onAccess(event)),
      subscribe('rx-statestore:log', event => this.#onLog(event)),
    ]
  }

  samples() {
    const categories = [...this.#categories.values()]
    const by = (count: (counts: CategoryCounts) => number): readonly Sample[] =>
      categories.map(counts => [count(counts), { category: counts.name }])
    return {
      aio_broker_state_store_insertions: one(this.#changes.inserted),
      aio_broker_state_store_modifications: one(this.#changes.modified),
      aio_broker_state_store_deletions: one(this.#deletions),
      aio_broker_state_store_retrievals: one(this.#retrievals),
      aio_broker_state_store_keynotify_requests: one(this.#keynotifyRequests),
      aio_broker_state_store_notifications_sent: one(this.#notifications),
      rx_statestore_requests_total: this.#requests.samples(),
      rx_statestore_request_errors_total: this.#requestErrors.samples(),
      rx_statestore_pending_requests: one(this.#pendingRequests),
      aio_broker_publishes_received: by(({ received }) => received),
      aio_broker_publishes_sent: by(({ sent }) => sent),
      aio_broker_payload_bytes_received: by(({ receivedBytes }) => receivedBytes),
      aio_broker_payload_bytes_sent: by(({ sentBytes }) => sentBytes),
      aio_broker_qos0_messages_dropped: categories.map(
        ({ name, dropped }) => [dropped, { category: name, direction: 'outgoing' }] as const,
      ),
      aio_broker_store_expired_messages: one(this.#expiredMessages),
      rx_statestore_too_large_messages_total: one(this.#tooLargeMessages),
      aio_broker_authentication_successes: by(({ logins }) => logins),
      aio_broker_authentication_deny: [[this.#rejectedLogins, { category: NO_CATEGORY }]],
      rx_statestore_token_key_failures_total: one(this.#keyFailures),
      aio_broker_authorization_deny: by(({ denied }) => denied),
      rx_statestore_quota_rejections_total: this.#quotaRejections.samples(),
      rx_statestore_connections_opened_total: this.#opened.samples(),
      rx_statestore_connections_closed_total: this.#closed.samples(),
      rx_statestore_connections_cut_total: this.#cuts.samples(),
      rx_statestore_handshakes_failed_total: this.#handshakes.samples(),
      rx_statestore_log_written_bytes_total: one(this.#writtenBytes),
      rx_statestore_log_rejected_total: this.#rejectedEntries.samples(),
      rx_statestore_log_snapshots_total: one(this.#snapshots),
      rx_statestore_log_snapshots_failed_total: one(this.#failedSnapshots),
      rx_statestore_incomplete_takeovers_total: one(this.#incompleteTakeovers),
      rx_statestore_log_elections_total: this.#elections.samples(),
      rx_statestore_log_position: one(this.#position),
    } as const satisfies Record<string, readonly Sample[]>
  }

  close(): void {
    for (const unsubscribe of this.#subscriptions) unsubscribe()
  }

  #onRequestEnd(trace: ServerRequestTrace): void {
    const { verb, outcome, error, startedAt } = trace
    const command = verb ?? 'invalid'
    // Requests that started before the subscription were not counted as pending.
    if (this.#pendingRequests > 0) this.#pendingRequests--
    this.#durations[command].observe((this.#clock.monotonic() - startedAt) / 1_000)
    this.#requests.add(command, outcome)
    if (error !== undefined) this.#requestErrors.add(error)
    if (verb === 'GET') this.#retrievals++
    else if (verb === 'DEL' || verb === 'VDEL') this.#deletions++
    else if (verb === 'KEYNOTIFY') this.#keynotifyRequests++
  }

  #onConnection(event: ServerConnectionEvent): void {
    switch (event.type) {
      case 'opened':
        this.#opened.add(event.listener)
        this.#categoryByClient.set(event.clientId, this.#categoryOf(event.category ?? NO_CATEGORY))
        return
      case 'closed':
        if (!event.isAdmitted) return
        this.#closed.add(event.by)
        this.#categoryByClient.delete(event.clientId)
        return
      case 'cut':
        this.#cuts.add(event.limit)
        return
      case 'handshake-failed':
        this.#handshakes.add(event.listener)
    }
  }

  #onPublish({ direction, clientId, payloadBytes }: ServerPublishEvent): void {
    const counts = this.#countsOf(clientId)
    if (direction === 'received') {
      counts.received++
      counts.receivedBytes += payloadBytes
    } else {
      counts.sent++
      counts.sentBytes += payloadBytes
    }
  }

  #onDrop({ reason, clientId }: ServerDropEvent): void {
    if (reason === 'expired') this.#expiredMessages++
    else if (reason === 'too-large') this.#tooLargeMessages++
    else this.#countsOf(clientId).dropped++
  }

  #onAccess({ event, outcome, action, reason, clientId }: ServerAccessEvent): void {
    if (event === 'login' && outcome === 'accepted') this.#countsOf(clientId).logins++
    else if (event === 'login') this.#rejectedLogins++
    else if (event === 'takeover') this.#incompleteTakeovers++
    else if (event === 'keys-unavailable') this.#keyFailures++
    else if (event === 'refused' && reason === 'quota') this.#quotaRejections.add(action ?? 'other')
    else if (event === 'refused') this.#countsOf(clientId).denied++
  }

  #onLog(event: LogEvent): void {
    switch (event.type) {
      case 'committed':
        this.#commits.observe(event.duration / 1_000)
        this.#entryCommands.observe(event.commands)
        return
      case 'flushed':
        this.#flushes.observe(event.duration / 1_000)
        this.#writtenBytes += event.bytes
        this.#position = event.position
        return
      case 'progress':
        this.#position = event.position
        return
      case 'rejected':
        this.#rejectedEntries.add(event.problem)
        return
      case 'snapshot':
        this.#snapshots++
        return
      case 'snapshot-failed':
        this.#failedSnapshots++
        return
      case 'election':
        this.#elections.add(event.isElected ? 'elected' : 'not-elected')
    }
  }

  #countsOf(clientId: string | undefined): CategoryCounts {
    return (clientId !== undefined && this.#categoryByClient.get(clientId)) || this.#uncategorized
  }

  #categoryOf(name: string): CategoryCounts {
    const known = this.#categories.get(name)
    if (known !== undefined) return known
    // The two predefined categories are not counted.
    if (this.#categories.size >= MAX_CATEGORIES + 2 || !CATEGORY_NAME.test(name)) return this.#other
    return this.#addCategory(name)
  }

  #addCategory(name: string): CategoryCounts {
    const counts = { name, received: 0, receivedBytes: 0, sent: 0, sentBytes: 0, dropped: 0, logins: 0, denied: 0 }
    this.#categories.set(name, counts)
    return counts
  }
}

const one = (value: number): readonly Sample[] => [[value]]

const LISTENERS = ['mqtt', 'mqtts', 'ws', 'wss']
const LIMITS = [
  'connections',
  'connections-per-address',
  'unauthenticated-connections',
  'origin',
  'login-time',
  'packet-time',
  'receive-maximum',
  'packet-size',
  'message-rate',
  'quota',
  'other',
] satisfies ConnectionLimit[]

/** The limit on the number of different values of a label, in case that a channel has more. */
const MAX_VALUES = 100

/** Counts events by one or two labels. */
class Tally {
  readonly #first: string
  readonly #second: string | undefined
  readonly #counts = new Map<string, Map<string, number>>()

  /** @param initial - the values that are 0 from the start, because an alert does not notice a counter that begins at 1 */
  constructor(first: string, initial: readonly string[], second?: string) {
    this.#first = first
    this.#second = second
    for (const value of initial) this.#counts.set(value, new Map([['', 0]]))
  }

  add(first: string, second = ''): void {
    let counts = this.#counts.get(first)
    if (counts === undefined) {
      if (this.#counts.size >= MAX_VALUES) {
        if (first !== OTHER_CATEGORY) this.add(OTHER_CATEGORY, second)
        return
      }
      counts = new Map()
      this.#counts.set(first, counts)
    }
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }

  samples(): readonly Sample[] {
    return [...this.#counts].flatMap(([first, counts]) =>
      Array.from(counts, ([second, count]): Sample => {
        const labels = { [this.#first]: first }
        return [count, this.#second === undefined ? labels : { ...labels, [this.#second]: second }]
      }),
    )
  }
}
