import { type Observer, Subject, Subscription } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { type Entry, type Freshness, type Key, StateStoreError, text } from '../../src/client/index.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { compareState } from '../judges/convergence.js'
import { BesideBroker } from './beside.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { History, storedEntry } from './history.js'
import { FAULTLESS } from './network.js'
import { SharedEntries, SimNode } from './node.js'
import { Oracle } from './oracle.js'
import { Random } from './random.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import {
  type Action,
  type ClientPlan,
  FAULTY_MS,
  type Failover,
  type KeyAction,
  MAX_KEYS,
  type Schedule,
} from './schedule.js'
import { CountedClock, VirtualTime } from './virtual-time.js'
import type { Client, Group, Watcher, Write } from './watch-client.js'
import { WatchSession } from './watch-session.js'
import { judgeWrites, ODD_CODES } from './watch-writes.js'

export interface SimulationResult {
  readonly violations: readonly string[]
  readonly entries: number
  readonly writes: Readonly<Record<string, number>>
  readonly changes: number
}

/** Outlasts every timeout, backoff and expiry of the time with faults. */
const SETTLE_MS = 90_000
const TEARDOWN_MS = 60_000
const TIMEOUT_MS = 1_000
/** A client whose id is taken over before its first connection is rejected. */
const EXPECTED_CODES = new Set(['timeout', 'outcome-unknown', 'closed', 'connection-refused'])
const KEY_NAMES = Array.from({ length: MAX_KEYS }, (_, i) => `key${i}`)

function brokersOf(setting: Setting, { nodes, beside }: Schedule): readonly SimBroker[] {
  if (beside) return [new BesideBroker(setting)]
  if (nodes === undefined) return [new SimBroker(setting)]
  const cluster = new SharedEntries()
  return Array.from({ length: nodes }, () => new SimNode(setting, cluster))
}

/** A store, clients and a network on virtual time. */
export class World {
  readonly #schedule: Schedule
  readonly #setting: Setting
  readonly #brokers: readonly SimBroker[]
  /**
   * The current client of each plan, and all clients ever created. A replaced client may return and compete for the
   * session.
   */
  readonly #clients: Client[] = []
  readonly #allClients: Client[] = []
  readonly #writes: Write[] = []
  readonly #violations: string[] = []
  /**
   * Clients that were closed during odd replies on connections that stay open. A STOP that is sent only once may have
   * failed.
   */
  readonly #closedDuringOddReplies = new Set<string>()
  readonly #handlers: ReentrantHandlers
  #isSettingKeys = false
  #entries = 0

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    const random = new Random(schedule.seed ^ 0x5eed)
    this.#handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    this.#setting = {
      kind: schedule.kind,
      time: new VirtualTime(),
      random,
      conditions: { ...schedule.conditions },
      history: new History(),
      ...(schedule.beside && { instanceId: { name: 'life 0' } }),
    }
    this.#brokers = brokersOf(this.#setting, schedule)
    for (const [i, plan] of schedule.clients.entries()) this.#clients.push(this.#open(i, plan))
  }

  run(): SimulationResult {
    const { time, conditions, history } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#perform(action))
    time.runUntil(FAULTY_MS)
    Object.assign(conditions, FAULTLESS)
    time.runUntil(FAULTY_MS + SETTLE_MS)
    this.#judgeConvergence()
    this.#violations.push(...judgeWrites(this.#writes, history))
    if (this.#schedule.reentrancy) this.#judgeLeftovers()
    for (const { store } of this.#allClients) void store.close()
    const writes: Record<string, number> = {}
    for (const { outcome } of this.#writes) writes[outcome] = (writes[outcome] ?? 0) + 1
    return { violations: this.#violations, entries: this.#entries, writes, changes: history.all.length }
  }

  #open(index: number, plan: ClientPlan, connection?: WatchSession): Client {
    const options = { clientId: `client${index}`, ...plan }
    const host = {
      timeout: TIMEOUT_MS,
      isAskedAgain: (this.#schedule.conditions.oddReply ?? 0) > 0 || this.#schedule.beside === true,
      complain: (what: string) => this.#complain(what),
      answered: (value: string) => this.#answered(value),
    }
    const session = connection ?? new WatchSession(this.#brokers, this.#setting, options, host)
    const clock = new CountedClock(this.#setting.time.clock(plan.clockOffset, plan.clockRate))
    const store = new StateStore(session, {
      clock,
      timeout: TIMEOUT_MS,
      maxQueued: 1_000,
      stopDelay: plan.stopDelay ?? 0,
    })
    const keys = KEY_NAMES.map(name => store.key(name, text))
    const watchers = new Set<Watcher>()
    const client: Client = { store, session, clock, plan, index, keys, watchers, group: undefined, closed: false }
    store.status$.subscribe({
      next: () => this.#runHandler(client),
      complete: () => {
        client.closed = true
      },
    })
    store.errors$.subscribe(() => this.#runHandler(client))
    this.#allClients.push(client)
    return client
  }

  #perform(action: Action): void {
    if (action.type === 'restart') {
      this.#brokers[action.node ?? 0]?.restart(action)
      return
    }
    if (action.type === 'failover') {
      this.#failOver(action)
      return
    }
    if (action.type === 'clock') {
      for (const broker of this.#brokers) broker.setClock(action.back)
      return
    }
    const client = this.#clients[action.client]
    const plan = this.#schedule.clients[action.client]
    if (client === undefined || plan === undefined) return
    if (action.type === 'cut') client.session.cut()
    else if (action.type === 'move') client.session.move()
    else if (action.type === 'takeover') this.#clients[action.client] = this.#open(action.client, plan)
    else if (action.type === 'watchAll') this.#watchAll(client, action.keys)
    else if (action.type === 'reopen') this.#reopen(action.client, client, plan)
    else this.#actOnKey(client, action, client.keys[action.key])
  }

  /**
   * Replaces the store. Notifications of the previous store may still arrive, on connections that were fresh for it.
   */
  #failOver(failover: Failover): void {
    for (const broker of this.#brokers) if (broker instanceof BesideBroker) broker.failOver(failover)
    for (const { session } of this.#allClients) session.isNewSession = false
  }

  #reopen(i: number, client: Client, plan: ClientPlan): void {
    if (!client.session.isShared) return
    const watched = Array.from(client.watchers, ({ key }) => key)
    if (this.#setting.conditions.oddReply) this.#closedDuringOddReplies.add(client.store.clientId)
    void client.store.close()
    const next = this.#open(i, plan, client.session)
    this.#clients[i] = next
    for (const key of next.keys) if (watched.includes(key.name)) this.#watch(next, key)
  }

  #actOnKey(client: Client, action: KeyAction, key: Key<string> | undefined): void {
    if (key === undefined) return
    const error = (cause: unknown): void => void this.#expectError(cause)
    if (action.type === 'watch') this.#watch(client, key)
    else if (action.type === 'unwatch') this.#unwatch(client, key)
    else if (action.type === 'remount') this.#remount(client, key, action.pause)
    else if (action.type === 'set') this.#write(client, key, action.how)
    else if (action.type === 'delete') key.delete().subscribe({ error })
    else key.deleteIf(this.#lastValue()).subscribe({ error })
  }

  #lastValue(): string {
    return this.#writes.at(-1)?.value ?? 'none'
  }

  #watch(client: Client, key: Key<string>): void {
    const watcher = this.#watcher(client, key.name)
    watcher.subscription.add(key.entries$.subscribe(this.#listen(client, watcher)))
    this.#observe(client, watcher, key)
  }

  /** Subscribes to entries before freshness, so that freshness handlers run last. */
  #watchAll(client: Client, keys: number): void {
    // A handler that runs because of a change of the set does not change the set again.
    if (client.closed || this.#isSettingKeys) return
    this.#isSettingKeys = true
    const group = client.group ?? this.#group(client)
    client.group = group
    const names = KEY_NAMES.filter((_, i) => (keys >> i) & 1)
    for (const [name, watcher] of group.members)
      if (!names.includes(name)) {
        group.members.delete(name)
        watcher.subscription.unsubscribe()
      }
    const added = names.filter(name => !group.members.has(name))
    for (const name of added) group.members.set(name, this.#watcher(client, name))
    group.keys$.next(names)
    for (const name of added) {
      const [watcher, key] = [group.members.get(name), client.keys.find(one => one.name === name)]
      if (watcher && key) this.#observe(client, watcher, key)
    }
    this.#isSettingKeys = false
  }

  #group(client: Client): Group {
    const group: Group = { keys$: new Subject(), members: new Map() }
    const end = (): void => {
      for (const { subscription } of group.members.values()) subscription.unsubscribe()
      group.members.clear()
    }
    client.store.watchAll(group.keys$, text).subscribe({
      next: entry => {
        const watcher = group.members.get(entry.key)
        if (watcher) this.#onEntry(client, watcher, entry)
        else this.#complain(`${client.store.clientId} ${entry.key} is not watched, but emits`)
      },
      error: cause => {
        this.#expectError(cause)
        end()
      },
    })
    client.store.status$.subscribe({ complete: end })
    return group
  }

  #watcher(client: Client, key: string): Watcher {
    const hasDuplicates = this.#schedule.conditions.duplicate > 0
    const oracle = new Oracle(this.#setting.history, key, { hasPositions: this.#setting.kind.positions, hasDuplicates })
    const watcher: Watcher = { key, oracle, subscription: new Subscription() }
    client.watchers.add(watcher)
    watcher.subscription.add(() => client.watchers.delete(watcher))
    return watcher
  }

  #listen(client: Client, watcher: Watcher): Observer<Entry<string>> {
    return {
      next: entry => this.#onEntry(client, watcher, entry),
      error: cause => {
        this.#expectError(cause)
        watcher.subscription.unsubscribe()
      },
      complete: () => watcher.subscription.unsubscribe(),
    }
  }

  #observe(client: Client, watcher: Watcher, key: Key<string>): void {
    const { session, watchers } = client
    const { oracle, subscription } = watcher
    const onFreshness = ({ state }: Freshness): void => {
      const complaint = oracle.setLive(
        state === 'live',
        this.#handlers.isWithin ? undefined : session.delivering?.position,
      )
      if (complaint) this.#complain(`${this.#setting.time.now} ms ${client.store.clientId} ${key.name}: ${complaint}`)
      if (state === 'live') this.#judgePendingWrites(client, key.name)
      this.#runHandler(client)
    }
    subscription.add(key.freshness$.subscribe({ next: onFreshness, error: () => undefined }))
    const others = Array.from(watchers).filter(other => other.key === key.name && other !== watcher)
    // Other subscribers may not have received this entry yet.
    const [other] = this.#handlers.isWithin ? [] : others
    if (oracle.shown || others.length > 0) oracle.joinLate(other?.oracle)
  }

  #unwatch(client: Client, key: Key<string>): number {
    const members = new Set(client.group?.members.values())
    const removed = Array.from(client.watchers).filter(watcher => watcher.key === key.name && !members.has(watcher))
    for (const { subscription } of removed) subscription.unsubscribe()
    return removed.length
  }

  #remount(client: Client, key: Key<string>, pause: number): void {
    const count = this.#unwatch(client, key)
    const rewatch = (): void => {
      for (let i = 0; i < count; i++) this.#watch(client, key)
    }
    if (pause === 0) rewatch()
    else this.#setting.time.after(pause, rewatch)
  }

  #onEntry(client: Client, { key, oracle }: Watcher, entry: Entry<string>): void {
    const { store, session } = client
    this.#entries++
    const { delivering } = session
    if (delivering === undefined && oracle.shown !== undefined) this.#complain(`${key} emitted without a message`)
    const complaint = oracle.judge(entry, {
      // A subscriber that joins in a handler receives the previous entry.
      position: this.#handlers.isWithin ? undefined : delivering?.position,
      // If some messages lack the identifier, a read decides, as with brokers without identifiers, and may merge
      // changes.
      isCertain: session.isNewSession || (this.#setting.kind.identifiers && !session.lacksIdentifiers),
      wasDelivered: session.notified.has(String(entry.version)),
    })
    const what = `${entry.op} ${String(entry.version)} (${entry.source})`
    if (complaint) this.#complain(`${this.#setting.time.now} ms ${store.clientId} ${key} ${what}: ${complaint}`)
    this.#runHandler(client)
  }

  #runHandler(client: Client): void {
    const key = (): Key<string> | undefined => client.keys[this.#setting.time.now % 2]
    const touch = (act: (key: Key<string>) => void) => (): void => {
      const one = key()
      if (one) act(one)
    }
    this.#handlers.handle(
      touch(one => this.#watch(client, one)),
      touch(one => this.#watch(client, one)),
      touch(one => void this.#unwatch(client, one)),
      touch(one => void this.#unwatch(client, one)),
      touch(one => this.#remount(client, one, 0)),
      touch(one => this.#write(client, one, 'plain')),
      touch(one => one.delete().subscribe({ error: error => void this.#expectError(error) })),
      () => this.#watchAll(client, this.#setting.time.now % 2 ** MAX_KEYS),
      () => this.#replaceClient(client),
    )
  }

  /** Closes a client from a handler, and creates another client after a pause. */
  #replaceClient(client: Client): void {
    const { store, plan, index, session } = client
    if (session.isShared || this.#clients[index] !== client || this.#setting.time.now > FAULTY_MS) return
    void store.close()
    this.#setting.time.after(50, () => {
      if (this.#clients[index] === client) this.#clients[index] = this.#open(index, plan)
    })
  }

  /** Checks that the request of an arriving response was not abandoned before its timeout. */
  #answered(value: string): void {
    const write = this.#writes.find(one => one.value === value)
    if (write === undefined || write.client.closed || write.outcome !== 'outcome-unknown') return
    if (this.#setting.time.now - write.at < TIMEOUT_MS * 0.9)
      this.#complain(`the request for ${value} was abandoned before its response arrived`)
  }

  /**
   * Checks that a client that has read a key on a connection no longer waits for writes sent on an earlier connection.
   */
  #judgePendingWrites(client: Client, key: string): void {
    if (client.session.delivering === undefined) return
    for (const { value, outcome, client: writer, key: written } of this.#writes)
      if (outcome === 'pending' && writer === client && written === key && client.session.wasSentEarlier(value))
        this.#complain(
          `${client.store.clientId} still waits for ${value}, although ${key} was read on a later connection`,
        )
  }

  #judgeLeftovers(): void {
    const { time } = this.#setting
    this.#handlers.stop()
    for (const { watchers } of this.#allClients)
      for (const { subscription } of Array.from(watchers)) subscription.unsubscribe()
    for (const { group } of this.#allClients) {
      group?.keys$.next([])
      group?.keys$.complete()
    }
    time.runUntil(time.now + TEARDOWN_MS)
    for (const { store, clock, closed } of this.#allClients) {
      const { size } = store[HOST].registry
      if (size > 0) this.#complain(`${store.clientId} still has ${size} watches`)
      if (clock.pending > 0) this.#complain(`${store.clientId} still has ${clock.pending} timers`)
      if (!closed) this.#judgeRegistrations(store.clientId)
    }
  }

  #write(client: Client, key: Key<string>, how: 'plain' | 'NX' | 'NEX' | 'PX'): void {
    const value = `v${this.#writes.length}`
    const at = this.#setting.time.now
    const write: Write = { value, key: key.name, client, at, outcome: 'pending', version: undefined }
    this.#writes.push(write)
    const options = {
      plain: {},
      NX: { ifAbsent: true },
      NEX: { ifAbsentOrEqual: true },
      PX: { expiresIn: this.#setting.random.int(20, 2_000) },
    }[how]
    key.set(write.value, options).subscribe({
      next: ({ applied, version }) => {
        write.outcome = applied ? 'applied' : 'refused'
        write.version = String(version)
        this.#runHandler(client)
      },
      error: error => {
        write.outcome = this.#expectError(error)
        this.#runHandler(client)
      },
    })
  }

  #expectError(error: unknown): string {
    const code = error instanceof StateStoreError ? error.code : String(error)
    const { oddReply } = this.#schedule.conditions
    if (!EXPECTED_CODES.has(code) && !(oddReply && ODD_CODES.has(code))) this.#complain(`unexpected error ${code}`)
    return code
  }

  #judgeConvergence(): void {
    for (const client of this.#allClients) {
      for (const { key, oracle } of client.watchers) {
        const { engine } = this.#brokers[0] ?? {}
        const wrong = compareState(oracle.shown, engine ? storedEntry(engine, key) : { op: 'absent' })
        if (!oracle.isLive) this.#complain(`${client.store.clientId} ${key} is not live`)
        if (wrong) this.#complain(`${client.store.clientId} ${key} did not converge: ${wrong}`)
      }
    }
    for (const i of this.#schedule.clients.keys()) this.#judgeRegistrations(`client${i}`)
  }

  #judgeRegistrations(clientId: string): void {
    const same = this.#allClients.filter(({ store }) => store.clientId === clientId)
    const watched = new Set(same.flatMap(({ watchers }) => Array.from(watchers, ({ key }) => key))).size
    const registered = this.#brokers.reduce((sum, broker) => sum + broker.watchesOf(clientId), 0)
    if (registered > watched && this.#closedDuringOddReplies.has(clientId)) return
    // A watch that ends while the store is down cannot unregister, so the next store may receive the pending request of
    // the watch.
    if (registered > watched && this.#schedule.beside) return
    if (watched !== registered) this.#complain(`${clientId} watches ${watched} keys, but ${registered} are registered`)
  }

  #complain(what: string): void {
    this.#violations.push(what)
  }
}
