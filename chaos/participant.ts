import type { ClientStats, StateStore, Status } from 'rx-statestore'
import { connect } from 'rx-statestore'
import { Link } from '../harness/link.js'
import type { Random } from '../harness/random.js'
import type { ChaosContext } from './context.js'
import { now } from './now.js'
import { endsWithin } from './random-interval.js'
import { type Role, Watchers } from './watchers.js'
import { Writers } from './writers.js'

const HOUR_MS = 3_600_000
const CLOSE_TIMEOUT_MS = 10_000
const RECONNECT = { initial: 20, max: 400 }
/** Errors that end no stream and are expected under faults. */
const EXPECTED_CODES = ['timeout', 'overflow']

/** The kinds of clients, which are assigned in rotation. */
const PROFILES = [
  { direct: false, options: { sessionExpiry: HOUR_MS } },
  { direct: false, options: { sessionExpiry: 0 } },
  { direct: false, options: { sessionExpiry: HOUR_MS, cleanStart: true } },
  { direct: true, options: { sessionExpiry: HOUR_MS } },
  { direct: false, webSocket: true, options: { sessionExpiry: HOUR_MS } },
  { direct: false, options: { sessionExpiry: HOUR_MS, stopDelay: 50, timeout: 500 } },
  { direct: true, options: { sessionExpiry: 0 } },
  { direct: false, options: { sessionExpiry: HOUR_MS, timeout: 1_000 } },
]

/** The watches of the clients, which are assigned in rotation, offset by one for each round of profiles. */
const ROLES: readonly Role[] = ['keys', 'glob', 'all', 'all']

/** One client, with its links to the store and all its activity. */
export class Participant {
  name
  /** The links, one per address of the store. A client that connects directly has none. */
  links: readonly Link[]
  /** Further activities that restart with each client of this participant. */
  activities: { start: () => void }[] = []
  writers
  watchers
  /** The number of lost connections. Entries with the same number arrived over the same connection. */
  lostConnections = 0
  /** The time when the connection was established, on the clock of {@link now}. */
  connectedAt = 0
  /** The number of errors reported since the last connection was established. */
  reportedErrors = 0
  /** The number of previous clients with this id. */
  incarnation = 0
  #context
  #profile
  #urls: string[] = []
  #store: StateStore | undefined
  #status: Status = { state: 'connecting' }
  #stats: Pick<ClientStats, 'keys' | 'synced'> = { keys: 0, synced: 0 }
  #isStopping = false

  constructor(context: ChaosContext, number: number, random: Random) {
    this.#context = context
    this.#profile = PROFILES[number % PROFILES.length] as (typeof PROFILES)[number]
    this.name = `c${number}`
    this.writers = new Writers(context, this, random.fork())
    const role = ROLES[(number + Math.floor(number / ROLES.length)) % ROLES.length] ?? 'all'
    this.watchers = new Watchers(context, this, random.fork(), role)
    const ports = context.addresses.map(({ port, wsPort }) => (this.#profile.webSocket ? wsPort : port))
    this.links = this.#profile.direct ? [] : ports.map(port => new Link(port, random.fork()))
  }

  get address() {
    const status = this.#status
    return status.state === 'connected' ? this.#urls.indexOf(status.url ?? '') : -1
  }

  get store(): StateStore {
    if (this.#store === undefined) throw new Error('The participant has not started')
    return this.#store
  }

  /** Returns whether the client is connected and has read all its keys over this connection. */
  get isSynced() {
    return this.#status.state === 'connected' && this.#stats.keys === this.#stats.synced
  }

  get description() {
    return `${this.name}.${this.incarnation} ${JSON.stringify(this.#profile)} ${JSON.stringify(this.#status)} ${JSON.stringify(this.#stats)}`
  }

  async start() {
    const direct = this.#context.addresses.map(({ port }) => port)
    const ports = this.#profile.direct ? direct : await Promise.all(this.links.map(link => link.listen()))
    this.#urls = ports.map(port => `${this.#profile.webSocket ? 'ws' : 'mqtt'}://127.0.0.1:${port}`)
    this.#open()
  }

  /** Closes the client and starts another client with the same client id, which may resume the session. */
  async replaceClient() {
    if (this.#isStopping) return
    await this.stop()
    this.incarnation++
    this.lostConnections++
    this.#isStopping = false
    this.#open()
  }

  async stop() {
    this.#isStopping = true
    if (!(await endsWithin(CLOSE_TIMEOUT_MS, this.store.close())))
      this.#reportViolation('close', 'close() does not complete')
    if (this.#status.state !== 'closed') this.#reportViolation('status', 'the status is not closed after close()')
    this.watchers.checkClosed()
  }

  #open() {
    const [only = '', ...others] = this.#urls
    const store = connect(others.length === 0 ? only : this.#urls, {
      clientId: this.name,
      keepAlive: 2_000,
      connectTimeout: 2_000,
      timeout: 3_000,
      reconnect: RECONNECT,
      ...this.#profile.options,
    })
    this.#store = store
    this.#status = { state: 'connecting' }
    this.#stats = { keys: 0, synced: 0 }
    store.status$.subscribe(status => this.#handleStatus(status))
    store.stats$.subscribe(stats => this.#handleStats(stats))
    const { unavailableCodes: absences, expectedCodes: reports } = this.#context
    store.errors$.subscribe(error => {
      this.reportedErrors++
      if (![...EXPECTED_CODES, ...absences, ...reports].includes(error.code))
        this.#reportViolation('reported error', error)
    })
    this.watchers.start()
    for (const companion of this.activities) companion.start()
  }

  #handleStatus(status: Status) {
    const before = this.#status
    this.#status = status
    if (status.state === 'reconnecting') {
      this.lostConnections++
      queueMicrotask(() => this.#status === status && this.watchers.checkDisconnected())
    }
    if (status.state === 'closed' && !this.#isStopping) this.#reportViolation('closed unexpectedly', status.cause)
    if (status.state !== 'connected') return
    this.connectedAt = now()
    this.reportedErrors = 0
    if (before.state === 'reconnecting') this.#context.tally.add('reconnects')
  }

  #handleStats(stats: ClientStats) {
    const before = this.#stats
    this.#stats = stats
    if (this.#status.state !== 'connected') return
    // A new instance of the store counts as a new connection, because the client reads missed changes in the same way.
    if (this.#context.isAttached && stats.synced === 0 && before.synced > 0) this.lostConnections++
    if (this.lostConnections > 0) this.#context.tally.add('resyncs', Math.max(0, stats.synced - before.synced))
  }

  #reportViolation(kind: string, detail: unknown) {
    this.#context.violations.add(kind, `${this.description}: ${detail instanceof Error ? detail.stack : detail}`)
  }
}
