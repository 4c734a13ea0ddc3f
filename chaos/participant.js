import { connect } from 'rx-statestore'
import { GlobWatchers, roleOf } from './glob-watchers.js'
import { now } from './now.js'
import { until } from './pace.js'
import { Link } from './proxy.js'
import { Watchers } from './watchers.js'
import { Writers } from './writers.js'

/**
 * What all participants share.
 *
 * @typedef {object} World
 * @property {import('./options.js').Options} options
 * @property {readonly string[]} keys
 * @property {{ port: number, wsPort: number }} ports
 * @property {import('./recorder.js').Recorder} recorder
 * @property {import('./complaints.js').Complaints} complaints
 * @property {import('./counts.js').Counts} counts
 */

const HOUR = 3_600_000
/** How long close() may take, ms. */
const CLOSE_DEADLINE = 10_000
const RECONNECT = { initial: 20, maximum: 400 }
/** Errors that end no stream and are no fault of the library in this weather. */
const EXPECTED_REPORTS = ['timeout', 'overflow']
/** Beside a broker of others the store may be away while the broker is there. */
const EXPECTED_BESIDE = [...EXPECTED_REPORTS, 'no-store']

/** Kinds of clients, dealt out in turns. */
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

/** One client, its cable to the store, and all it does. */
export class Participant {
  name
  /** @type {Link | undefined} */
  link
  writers
  watchers
  globs
  /** How often the connection was lost; entries with the same number came over one connection. */
  losses = 0
  /** When the connection was made, in time of {@link now}. */
  connectedAt = 0
  /** How many errors were reported on this connection, and before it. */
  reports = 0
  /** How many clients with this id there were before this one. */
  life = 0
  #world
  #profile
  #url = ''
  /** @type {import('rx-statestore').StateStore | undefined} */
  #store
  /** @type {import('rx-statestore').Status} */
  #status = { state: 'connecting' }
  #leaving = false

  /**
   * @param {World} world
   * @param {number} number
   * @param {import('./random.js').Random} random
   */
  constructor(world, number, random) {
    this.#world = world
    this.#profile = /** @type {(typeof PROFILES)[number]} */ (PROFILES[number % PROFILES.length])
    this.name = `c${number}`
    this.writers = new Writers(world, this, random.fork())
    const role = roleOf(number)
    // One that watches one glob watches nothing else.
    this.watchers = new Watchers(world, this, random.fork(), role !== 'one')
    this.globs = new GlobWatchers(world, this, random.fork(), role)
    const { port, wsPort } = world.ports
    if (!this.#profile.direct) this.link = new Link(this.#profile.webSocket ? wsPort : port, random.fork())
  }

  /** @returns {import('rx-statestore').StateStore} */
  get store() {
    if (this.#store === undefined) throw new Error('The participant has not entered')
    return this.#store
  }

  /** Whether it is connected, and has read all its keys on this connection. */
  get isSynced() {
    const status = this.#status
    return status.state === 'connected' && status.keys === status.synced
  }

  /** For messages to people. */
  get description() {
    return `${this.name}.${this.life} ${JSON.stringify(this.#profile)} ${JSON.stringify(this.#status)}`
  }

  async enter() {
    const port = this.link ? await this.link.listen() : this.#world.ports.port
    this.#url = `${this.#profile.webSocket ? 'ws' : 'mqtt'}://127.0.0.1:${port}`
    this.#open()
  }

  /** Ends the client and starts another with the same client id, which may find the session of the one before. */
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
    if (!(await until(CLOSE_DEADLINE, () => closed))) this.#complain('close', 'it does not end')
    if (this.#status.state !== 'closed') this.#complain('status', 'it does not say closed after close()')
    this.watchers.judgeClosed()
    this.globs.judgeClosed()
  }

  #open() {
    const store = connect(this.#url, {
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
    store.errors$.subscribe(error => {
      this.reports++
      const expected = this.#world.options.mosquitto ? EXPECTED_BESIDE : EXPECTED_REPORTS
      if (!expected.includes(error.code)) this.#complain('reported error', error)
    })
    this.watchers.enter()
    this.globs.enter()
  }

  /** @param {import('rx-statestore').Status} status */
  #changed(status) {
    const before = this.#status
    this.#status = status
    if (status.state === 'reconnecting') {
      this.losses++
      queueMicrotask(() => this.#status === status && this.globs.judgeLost())
    }
    if (status.state === 'closed' && !this.#leaving) this.#complain('closed by itself', status.cause)
    if (status.state !== 'connected') return
    if (before.state === 'connected') {
      // Another life of the store: what was missed meanwhile is read, as on another connection.
      if (this.#world.options.mosquitto && status.synced === 0 && before.synced > 0) this.losses++
      if (this.losses > 0) this.#world.counts.resyncs += Math.max(0, status.synced - before.synced)
      return
    }
    this.connectedAt = now()
    this.reports = 0
    if (before.state === 'reconnecting') this.#world.counts.reconnects++
  }

  /**
   * @param {string} kind
   * @param {unknown} detail
   */
  #complain(kind, detail) {
    this.#world.complaints.add(kind, `${this.description}: ${detail instanceof Error ? detail.stack : detail}`)
  }
}
