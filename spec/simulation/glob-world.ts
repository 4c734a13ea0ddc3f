import { Subscription } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { type Entry, StateStoreError, text } from '../../src/client/index.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { matching } from '../../src/client/matching/index.js'
import { compareGlobView, compareState } from '../judges/convergence.js'
import { globMatcher } from '../judges/globs.js'
import type { Setting } from './connection.js'
import { GlobBroker } from './glob-broker.js'
import type { Client, KeyWatcher, Watcher } from './glob-client.js'
import { GlobOracle } from './glob-oracle.js'
import { GLOB_KEYS, GLOBS, type GlobAction, type GlobSchedule } from './glob-schedule.js'
import { GlobSession } from './glob-session.js'
import { History, storedEntry } from './history.js'
import { FAULTLESS } from './network.js'
import { Random } from './random.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import { type ClientPlan, FAULTY_MS } from './schedule.js'
import { seeded } from './simulate.js'
import { CountedClock, VirtualTime } from './virtual-time.js'

export interface GlobResult {
  readonly violations: readonly string[]
  readonly entries: number
}

const TIMEOUT_MS = 1_000
/** Outlasts every timeout, backoff and expiry of the time with faults. */
const SETTLE_MS = 90_000
const TEARDOWN_MS = 5_000
/** Outlasts the requests to a store that does not support them. */
const GIVE_UP_MS = 300_000
const GLOB_OPTIONS = { maxKeys: GLOB_KEYS.length, scanInterval: 700 }
const EXPECTED_CODES = ['timeout', 'outcome-unknown', 'closed', 'connection-refused']
const ODD_CODES = ['payload', 'hlc', 'service-unknown', 'quota-exceeded', 'syntax-error']

/** A store, clients that watch globs, and a network on virtual time. */
export class GlobWorld {
  readonly #schedule: GlobSchedule
  readonly #setting: Setting
  readonly #broker: GlobBroker
  readonly #clients: Client[] = []
  readonly #violations: string[] = []
  readonly #handlers: ReentrantHandlers
  /** Clients with keys whose separate watch has ended, although a read of this watch may still be pending. */
  readonly #watchedSeparately = new Set<string>()
  /**
   * Clients that were closed during odd replies on connections that stay open. A STOP that is sent only once may have
   * failed.
   */
  readonly #closedDuringOddReplies = new Set<number>()
  #entries = 0
  #writes = 0

  constructor(schedule: GlobSchedule) {
    this.#schedule = schedule
    this.#handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    this.#setting = {
      kind: schedule.kind,
      time: new VirtualTime(),
      random: new Random(schedule.seed ^ 0x5eed),
      conditions: { ...schedule.conditions },
      history: new History(),
    }
    this.#broker = new GlobBroker(this.#setting, schedule.hasGlobNotifications)
    for (const [i, plan] of schedule.clients.entries()) this.#clients.push(this.#open(i, plan))
  }

  run(): GlobResult {
    const { time, conditions } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#perform(action))
    time.runUntil(FAULTY_MS)
    Object.assign(conditions, FAULTLESS)
    time.runUntil(FAULTY_MS + SETTLE_MS)
    for (const client of this.#clients) this.#judgeConvergence(client)
    for (const [i, client] of this.#clients.entries()) this.#judgeRegistrations(client, i)
    this.#handlers.stop()
    this.#leaveAll()
    time.runUntil(FAULTY_MS + SETTLE_MS + TEARDOWN_MS)
    for (const [i, { session }] of this.#clients.entries()) {
      const left = this.#broker.watchesOf(`client${i}`)
      const isKnown = !session.hasRefused && !this.#closedDuringOddReplies.has(i)
      if (left > 0 && isKnown) this.#complain(`client${i} left ${left} registrations`)
    }
    if (this.#schedule.reentrancy) {
      time.runUntil(FAULTY_MS + SETTLE_MS + GIVE_UP_MS)
      for (const client of this.#clients) this.#judgeLeftovers(client)
    }
    for (const { store } of this.#clients) void store.close()
    return { violations: this.#violations, entries: this.#entries }
  }

  #open(i: number, plan: ClientPlan, connection?: GlobSession): Client {
    const session =
      connection ?? new GlobSession(this.#broker, this.#setting, { clientId: `client${i}`, ...plan }, TIMEOUT_MS)
    const clock = new CountedClock(this.#setting.time.clock(plan.clockOffset))
    const options = { clock, timeout: TIMEOUT_MS, maxQueued: 1_000, stopDelay: plan.stopDelay ?? 0 }
    const store = new StateStore(session, options)
    const client: Client = { store, session, clock, watchers: new Set(), keys: new Map() }
    store.status$.subscribe(() => this.#runHandler(client))
    store.errors$.subscribe(() => this.#runHandler(client))
    return client
  }

  #perform(action: GlobAction): void {
    if (action.type === 'restart') {
      this.#broker.restart(action)
      return
    }
    const client = this.#clients[action.client]
    const plan = this.#schedule.clients[action.client]
    if (client === undefined || plan === undefined) return
    if (action.type === 'cut' || (action.type === 'reopen' && !plan.shared)) client.session.cut()
    else if (action.type === 'reopen') this.#reopen(action.client, client, plan)
    else if ('glob' in action) this.#glob(client, action.type, GLOBS[action.glob] ?? '*')
    else if ('key' in action) this.#actOnKey(client, action.type, GLOB_KEYS[action.key] ?? '')
  }

  #reopen(i: number, client: Client, plan: ClientPlan): void {
    const globs = Array.from(client.watchers, ({ glob }) => glob)
    if (this.#setting.conditions.oddReply) this.#closedDuringOddReplies.add(i)
    void client.store.close()
    const next = this.#open(i, plan, client.session)
    this.#clients[i] = next
    for (const glob of globs) this.#watch(next, glob)
  }

  #glob(client: Client, type: 'watch' | 'unwatch', glob: string): void {
    if (type === 'watch') this.#watch(client, glob)
    else
      for (const watcher of Array.from(client.watchers)) if (watcher.glob === glob) watcher.subscription.unsubscribe()
  }

  #runHandler(client: Client): void {
    const { now } = this.#setting.time
    const glob = GLOBS[now % GLOBS.length] ?? '*'
    const key = GLOB_KEYS[now % GLOB_KEYS.length] ?? ''
    const keys = [() => this.#actOnKey(client, 'watchKey', key), () => this.#actOnKey(client, 'unwatchKey', key)]
    this.#handlers.handle(
      () => this.#watch(client, glob),
      () => this.#watch(client, glob),
      () => this.#glob(client, 'unwatch', glob),
      () => this.#glob(client, 'unwatch', glob),
      ...(this.#schedule.handlersWatchKeys ? keys : []),
      () => this.#actOnKey(client, 'set', key),
      () => this.#actOnKey(client, 'delete', key),
    )
  }

  #judgeLeftovers({ store, clock }: Client): void {
    const { size } = store[HOST].registry
    if (size > 0) this.#complain(`${store.clientId} still has ${size} watches`)
    if (clock.pending > 0) this.#complain(`${store.clientId} still has ${clock.pending} timers`)
  }

  #actOnKey(client: Client, type: 'set' | 'delete' | 'expire' | 'watchKey' | 'unwatchKey', name: string): void {
    const { store, keys } = client
    const key = store.key(name, text)
    const error = (cause: unknown): void => this.#checkError(cause)
    if (type === 'watchKey') {
      if (keys.has(name)) return
      this.#watchedSeparately.add(`${store.clientId} ${name}`)
      const watcher: KeyWatcher = { subscription: new Subscription(), shown: undefined }
      keys.set(name, watcher)
      const next = (entry: Entry<string>): void => {
        watcher.shown = entry
        this.#runHandler(client)
      }
      watcher.subscription.add(key.entries$.subscribe({ next, error }))
      const subscription = key.freshness$.subscribe({ next: () => this.#runHandler(client), error: () => undefined })
      watcher.subscription.add(subscription)
    } else if (type === 'unwatchKey') {
      const watcher = keys.get(name)
      // Deletes the name first, because the callback may watch the key again.
      keys.delete(name)
      watcher?.subscription.unsubscribe()
    } else if (type === 'delete') key.delete().subscribe({ error })
    else key.set(`v${this.#writes++}`, type === 'expire' ? { expiresIn: 300 } : {}).subscribe({ error })
  }

  #watch(client: Client, glob: string): void {
    const { kind, history } = this.#setting
    const { hasGlobNotifications, conditions } = this.#schedule
    const everyChange = hasGlobNotifications && kind.positions && kind.order === 'connection'
    const oracle = new GlobOracle(history, {
      hasPositions: kind.positions,
      hasDuplicates: conditions.duplicate > 0,
      everyChange,
      fits: globMatcher(glob),
    })
    const watcher: Watcher = { glob, oracle, subscription: new Subscription(), map: undefined }
    client.watchers.add(watcher)
    watcher.subscription.add(() => client.watchers.delete(watcher))
    const keys = matching(client.store, glob, text, GLOB_OPTIONS)
    const error = (cause: unknown): void => {
      this.#checkError(cause)
      watcher.subscription.unsubscribe()
    }
    const complete = (): void => watcher.subscription.unsubscribe()
    const next = (entry: Entry<string>): void => this.#onEntry(client, watcher, entry)
    watcher.subscription.add(keys.entries$.subscribe({ next, error, complete }))
    watcher.subscription.add(
      keys.freshness$.subscribe({
        next: ({ state }) => {
          oracle.setLive(state === 'live', this.#handlers.isWithin ? undefined : client.session.delivering?.position)
          this.#runHandler(client)
        },
        error: () => undefined,
      }),
    )
    watcher.subscription.add(
      keys.map$.subscribe({
        next: map => {
          watcher.map = map
          this.#runHandler(client)
        },
        error: () => undefined,
      }),
    )
  }

  #onEntry(client: Client, { glob, oracle }: Watcher, entry: Entry<string>): void {
    const { store, session } = client
    this.#entries++
    const complaint = oracle.judge(entry, {
      // A subscriber that joins in a handler receives the previous entry.
      position: this.#handlers.isWithin ? undefined : session.delivering?.position,
      isCertain: session.isNewSession || this.#setting.kind.identifiers,
      wasDelivered: session.notified.has(String(entry.version)),
      hasNotifications: !session.hasGivenUp(glob),
      separateWatch: session.separateWatchOf(entry.key),
      isOnlyWatcher: !this.#watchedSeparately.has(`${store.clientId} ${entry.key}`),
    })
    const what = `${entry.key} ${entry.op} ${String(entry.version)} (${entry.source})`
    if (complaint) this.#complain(`${this.#setting.time.now} ms ${store.clientId} ${glob} ${what}: ${complaint}`)
    this.#runHandler(client)
  }

  #judgeConvergence({ store, watchers, keys }: Client): void {
    const stored = new Map(GLOB_KEYS.map(key => [key, storedEntry(this.#broker.engine, key)]))
    const complain = (what: string, wrong: string) =>
      this.#complain(`${store.clientId} ${what} did not converge: ${wrong}`)
    for (const [key, { shown }] of keys) {
      const wrong = compareState(shown ?? { op: 'absent' }, storedEntry(this.#broker.engine, key))
      if (wrong) complain(key, wrong)
    }
    for (const { glob, oracle, map } of watchers) {
      const view = { isLive: oracle.isLive, last: (key: string) => oracle.shown(key), map, fits: globMatcher(glob) }
      for (const wrong of compareGlobView(view, stored)) complain(glob, wrong)
    }
  }

  #judgeRegistrations({ watchers, session }: Client, i: number): void {
    // After a false rejection, the registrations are unknown.
    if (session.hasRefused || this.#closedDuringOddReplies.has(i)) return
    const { hasGlobNotifications } = this.#schedule
    for (const { glob } of hasGlobNotifications ? watchers : [])
      if (session.isScannedFor(glob)) this.#complain(`client${i} ${glob} is still scanned`)
    const globs = hasGlobNotifications ? new Set(Array.from(watchers, ({ glob }) => glob)).size : 0
    const registered = Math.floor(this.#broker.watchesOf(`client${i}`) / 100)
    if (globs !== registered) this.#complain(`client${i} watches ${globs} globs, but ${registered} are registered`)
  }

  #leaveAll(): void {
    for (const { watchers, keys } of this.#clients) {
      for (const { subscription } of Array.from(watchers)) subscription.unsubscribe()
      for (const { subscription } of keys.values()) subscription.unsubscribe()
    }
  }

  #checkError(error: unknown): void {
    const code = error instanceof StateStoreError ? error.code : String(error)
    const isOdd = this.#schedule.conditions.oddReply && ODD_CODES.includes(code)
    if (!EXPECTED_CODES.includes(code) && !isOdd) this.#complain(`unexpected error ${code}`)
  }

  #complain(what: string): void {
    this.#violations.push(what)
  }
}

export const simulateGlobs = (schedule: GlobSchedule): GlobResult =>
  seeded(schedule.seed, () => new GlobWorld(schedule).run())
