import type { StateStore, Status } from 'rx-statestore'
import { connect } from 'rx-statestore'
import type { Complaints } from './complaints.js'
import type { Counts } from './counts.js'
import type { Victim } from './faults.js'
import { GlobWatchers, roleOf } from './glob-watchers.js'
import { now } from './now.js'
import { until } from './pace.js'
import { Link } from './proxy.js'
import type { Random } from './random.js'
import type { Recorder } from './recorder.js'
import { Watchers } from './watchers.js'
import { Writers } from './writers.js'

/** State shared by all participants. */
export interface World {
  options: { readonly stress: number; readonly mosquitto?: boolean }
  keys: readonly string[]
  /** addresses of the store, or of the nodes that share it */
  places: readonly { port: number; wsPort: number }[]
  recorder: Recorder
  complaints: Complaints
  counts: Counts
  /** codes of errors that mean that the broker is reachable but the store is not */
  absences: readonly string[]
  /** codes of other reported errors that are not faults of the library */
  reports: readonly string[]
}

const HOUR = 3_600_000
const CLOSE_DEADLINE = 10_000
const RECONNECT = { initial: 20, max: 400 }
/** Errors that end no stream and are expected under faults. */
const EXPECTED_REPORTS = ['timeout', 'overflow']

/** Kinds of clients, assigned in rotation. */
const PROFILES = [
  { direct: false, options: { sessionExpiry: HOUR } },
  { direct: false, options: { sessionExpiry: 0 } },
  { direct: false, options: { sessionExpiry: HOUR, cleanStart: true } },
  { direct: true, options: { sessionExpiry: HOUR } },
  { direct: false, webSocket: true, options: { sessionExpiry: HOUR } },
  { direct: false, options: { sessionExpiry: HOUR, stopDelay: 50, timeout: 500 } },
  { direct: true, options: { sessionExpiry: 0 } },
  { direct: false, options: { sessionExpiry: HOUR, timeout: 1_000 } },
]

/** One client with its links to the store and all its activity. */
export class Participant {
  name
  /** One per place of the store; empty for a client that connects directly. */
  links: readonly Link[]
  /** Other activities that restart with each of its clients. */
  companions: { enter: () => void }[] = []
  writers
  watchers
  globs
  /** Number of lost connections. Entries with the same number arrived over one connection. */
  losses = 0
  /** When the connection was established, in the time of {@link now}. */
  connectedAt = 0
  /** Number of errors reported since the last connection was established. */
  reports = 0
  /** Number of previous clients with this id. */
  life = 0
  #world
  #profile
  #urls: string[] = []
  #store: StateStore | undefined
  #status: Status = { state: 'connecting' }
  #leaving = false

  constructor(world: World, number: number, random: Random) {
    this.#world = world
    this.#profile = PROFILES[number % PROFILES.length] as (typeof PROFILES)[number]
    this.name = `c${number}`
    this.writers = new Writers(world, this, random.fork())
    const role = roleOf(number)
    // A client that watches one glob watches nothing else.
    this.watchers = new Watchers(world, this, random.fork(), role !== 'one')
    this.globs = new GlobWatchers(world, this, random.fork(), role)
    const ports = world.places.map(({ port, wsPort }) => (this.#profile.webSocket ? wsPort : port))
    this.links = this.#profile.direct ? [] : ports.map(port => new Link(port, random.fork()))
  }

  /** Its links, as targets for faults. */
  get victims(): Victim[] {
    return this.links.map((link, at) => ({ link, ...(at === 0 && { rebirth: () => this.rebirth() }) }))
  }

  /** Index of the place it is connected to. */
  get place() {
    const status = this.#status
    return status.state === 'connected' ? this.#urls.indexOf(status.url ?? '') : -1
  }

  get store(): StateStore {
    if (this.#store === undefined) throw new Error('The participant has not started')
    return this.#store
  }

  /** Returns whether it is connected and has read all its keys over this connection. */
  get isSynced() {
    const status = this.#status
    return status.state === 'connected' && status.keys === status.synced
  }

  /** For messages. */
  get description() {
    return `${this.name}.${this.life} ${JSON.stringify(this.#profile)} ${JSON.stringify(this.#status)}`
  }

  async enter() {
    const direct = this.#world.places.map(({ port }) => port)
    const ports = this.#profile.direct ? direct : await Promise.all(this.links.map(link => link.listen()))
    this.#urls = ports.map(port => `${this.#profile.webSocket ? 'ws' : 'mqtt'}://127.0.0.1:${port}`)
    this.#open()
  }

  /** Closes the client and starts another with the same client id, which may resume the session. */
  async rebirth() {
    if (this.#leaving) return
    await this.leave()
    this.life++
    this.losses++
    this.#leaving = false
    this.#open()
  }

  async leave() {
    this.#leaving = true
    let closed = false
    this.store.close().then(() => {
      closed = true
    })
    if (!(await until(CLOSE_DEADLINE, () => closed))) this.#complain('close', 'close() does not complete')
    if (this.#status.state !== 'closed') this.#complain('status', 'the status is not closed after close()')
    this.watchers.judgeClosed()
    this.globs.judgeClosed()
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
    store.status$.subscribe(status => this.#changed(status))
    const { absences, reports } = this.#world
    store.errors$.subscribe(error => {
      this.reports++
      if (![...EXPECTED_REPORTS, ...absences, ...reports].includes(error.code)) this.#complain('reported error', error)
    })
    this.watchers.enter()
    this.globs.enter()
    for (const companion of this.companions) companion.enter()
  }

  #changed(status: Status) {
    const before = this.#status
    this.#status = status
    if (status.state === 'reconnecting') {
      this.losses++
      queueMicrotask(() => this.#status === status && this.globs.judgeLost())
    }
    if (status.state === 'closed' && !this.#leaving) this.#complain('closed unexpectedly', status.cause)
    if (status.state !== 'connected') return
    if (before.state === 'connected') {
      // A new instance of the store: missed changes are read as on a new connection.
      if (this.#world.options.mosquitto && status.synced === 0 && before.synced > 0) this.losses++
      if (this.losses > 0) this.#world.counts.resyncs += Math.max(0, status.synced - before.synced)
      return
    }
    this.connectedAt = now()
    this.reports = 0
    if (before.state === 'reconnecting') this.#world.counts.reconnects++
  }

  #complain(kind: string, detail: unknown) {
    this.#world.complaints.add(kind, `${this.description}: ${detail instanceof Error ? detail.stack : detail}`)
  }
}
