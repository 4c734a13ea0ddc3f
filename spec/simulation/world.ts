import { type Observer, Subject, Subscription } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { type Entry, type Freshness, type Key, StateStoreError, text } from '../../src/client/index.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { judgeShown } from '../judges/convergence.js'
import { BesideBroker } from './beside.js'
import { SimBroker } from './broker.js'
import { CallingBack } from './calling-back.js'
import type { Setting } from './connection.js'
import { History, heldBy } from './history.js'
import { CALM } from './network.js'
import { Cluster, SimNode } from './node.js'
import { Oracle } from './oracle.js'
import { Random } from './random.js'
import { type Action, type ClientPlan, KEYS, type KeyAction, type Reign, type Schedule, TROUBLE } from './schedule.js'
import { CountedClock, VirtualTime } from './virtual-time.js'
import type { Client, Group, Watcher, Write } from './watch-client.js'
import { WatchSession } from './watch-session.js'
import { judgeWrites, ODD } from './watch-writes.js'

/** What came of a simulation. */
export interface Verdict {
  readonly violations: readonly string[]
  readonly entries: number
  readonly writes: Readonly<Record<string, number>>
  readonly changes: number
}

/** Long enough for every timeout, backoff and expiry of the troubled time. */
const SETTLE = 90_000
/** Long enough for what has to be ended. */
const LEAVE = 60_000
const TIMEOUT = 1_000
/** A client whose id is taken over before its first connection is refused. */
const EXPECTED = new Set(['timeout', 'outcome-unknown', 'closed', 'connection-refused'])
const KEY_NAMES = Array.from({ length: KEYS }, (_, i) => `key${i}`)

/** One broker, or several nodes that share a store. */
function brokersOf(setting: Setting, { nodes, beside }: Schedule): readonly SimBroker[] {
  if (beside) return [new BesideBroker(setting)]
  if (nodes === undefined) return [new SimBroker(setting)]
  const cluster = new Cluster()
  return Array.from({ length: nodes }, () => new SimNode(setting, cluster))
}

/** A store, clients and a network on virtual time. */
export class World {
  readonly #schedule: Schedule
  readonly #setting: Setting
  readonly #brokers: readonly SimBroker[]
  /** The client of each plan, and all that ever were: one that was replaced may come back and fight for the session. */
  readonly #clients: Client[] = []
  readonly #everyone: Client[] = []
  readonly #writes: Write[] = []
  readonly #violations: string[] = []
  /** Clients that were closed while answers made no sense, on connections that go on: who asks once cannot know that it was heard. */
  readonly #closedAmidNonsense = new Set<string>()
  readonly #handlers: CallingBack
  #isSettingKeys = false
  #entries = 0

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    const random = new Random(schedule.seed ^ 0x5eed)
    this.#handlers = new CallingBack(new Random(schedule.seed ^ 0xbac), schedule.callingBack)
    this.#setting = {
      kind: schedule.kind,
      time: new VirtualTime(),
      random,
      conditions: { ...schedule.conditions },
      history: new History(),
      ...(schedule.beside && { life: { name: 'life 0' } }),
    }
    this.#brokers = brokersOf(this.#setting, schedule)
    for (const [i, plan] of schedule.clients.entries()) this.#clients.push(this.#open(i, plan))
  }

  run(): Verdict {
    const { time, conditions, history } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#do(action))
    time.runUntil(TROUBLE)
    Object.assign(conditions, CALM)
    time.runUntil(TROUBLE + SETTLE)
    this.#judgeConvergence()
    this.#violations.push(...judgeWrites(this.#writes, history))
    if (this.#schedule.callingBack) this.#judgeRest()
    for (const { store } of this.#everyone) void store.close()
    const writes: Record<string, number> = {}
    for (const { outcome } of this.#writes) writes[outcome] = (writes[outcome] ?? 0) + 1
    return { violations: this.#violations, entries: this.#entries, writes, changes: history.all.length }
  }

  #open(index: number, plan: ClientPlan, connection?: WatchSession): Client {
    const options = { clientId: `client${index}`, ...plan }
    const court = {
      timeout: TIMEOUT,
      // A store that was away knows no registrations.
      isAskedAgain: (this.#schedule.conditions.oddReply ?? 0) > 0 || this.#schedule.beside === true,
      complain: (what: string) => this.#complain(what),
      answered: (value: string) => this.#answered(value),
    }
    const session = connection ?? new WatchSession(this.#brokers, this.#setting, options, court)
    const clock = new CountedClock(this.#setting.time.clock(plan.clockOffset, plan.clockRate))
    const store = new StateStore(session, {
      clock,
      timeout: TIMEOUT,
      maxQueued: 1_000,
      stopDelay: plan.stopDelay ?? 0,
    })
    const keys = KEY_NAMES.map(name => store.key(name, text))
    const watchers = new Set<Watcher>()
    const client: Client = { store, session, clock, plan, index, keys, watchers, group: undefined, closed: false }
    store.status$.subscribe({
      next: () => this.#handled(client),
      complete: () => {
        client.closed = true
      },
    })
    store.errors$.subscribe(() => this.#handled(client))
    this.#everyone.push(client)
    return client
  }

  #do(action: Action): void {
    if (action.type === 'restart') {
      this.#brokers[action.node ?? 0]?.restart(action)
      return
    }
    if (action.type === 'reign') {
      this.#reign(action)
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
    else this.#touch(client, action, client.keys[action.key])
  }

  /** What the store before told may still come, on connections that were new for it. */
  #reign(reign: Reign): void {
    for (const broker of this.#brokers) if (broker instanceof BesideBroker) broker.reign(reign)
    for (const { session } of this.#everyone) session.fresh = false
  }

  /** Only the client ends, the connection under it goes on. */
  #reopen(i: number, client: Client, plan: ClientPlan): void {
    if (!client.session.shared) return
    const watched = Array.from(client.watchers, ({ key }) => key)
    if (this.#setting.conditions.oddReply) this.#closedAmidNonsense.add(client.store.clientId)
    void client.store.close()
    const next = this.#open(i, plan, client.session)
    this.#clients[i] = next
    for (const key of next.keys) if (watched.includes(key.name)) this.#watch(next, key)
  }

  #touch(client: Client, action: KeyAction, key: Key<string> | undefined): void {
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

  /** Subscribes first and asks for keys then: whoever hears of freshness comes after the entries. */
  #watchAll(client: Client, keys: number): void {
    // A handler that hears of the change of a set changes it no more.
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
        if (watcher) this.#hear(client, watcher, entry)
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
    const duplicates = this.#schedule.conditions.duplicate > 0
    const oracle = new Oracle(this.#setting.history, key, { positions: this.#setting.kind.positions, duplicates })
    const watcher: Watcher = { key, oracle, subscription: new Subscription() }
    client.watchers.add(watcher)
    watcher.subscription.add(() => client.watchers.delete(watcher))
    return watcher
  }

  #listen(client: Client, watcher: Watcher): Observer<Entry<string>> {
    return {
      next: entry => this.#hear(client, watcher, entry),
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
    const fresh = ({ state }: Freshness): void => {
      const complaint = oracle.live(state === 'live', this.#handlers.isWithin ? undefined : session.delivering?.place)
      if (complaint) this.#complain(`${this.#setting.time.now} ms ${client.store.clientId} ${key.name}: ${complaint}`)
      if (state === 'live') this.#judgePatience(client, key.name)
      this.#handled(client)
    }
    subscription.add(key.freshness$.subscribe({ next: fresh, error: () => undefined }))
    const others = Array.from(watchers).filter(other => other.key === key.name && other !== watcher)
    // The others may not have been told yet what this one was shown.
    const [other] = this.#handlers.isWithin ? [] : others
    if (oracle.shown || others.length > 0) oracle.joins(other?.oracle)
  }

  /** How many have left; those of a `watchAll` stay. */
  #unwatch(client: Client, key: Key<string>): number {
    const members = new Set(client.group?.members.values())
    const left = Array.from(client.watchers).filter(watcher => watcher.key === key.name && !members.has(watcher))
    for (const { subscription } of left) subscription.unsubscribe()
    return left.length
  }

  #remount(client: Client, key: Key<string>, pause: number): void {
    const left = this.#unwatch(client, key)
    const back = (): void => {
      for (let i = 0; i < left; i++) this.#watch(client, key)
    }
    if (pause === 0) back()
    else this.#setting.time.after(pause, back)
  }

  #hear(client: Client, { key, oracle }: Watcher, entry: Entry<string>): void {
    const { store, session } = client
    this.#entries++
    const { delivering } = session
    if (delivering === undefined && oracle.shown !== undefined) this.#complain(`${key} said something out of nothing`)
    const complaint = oracle.judge(entry, {
      // What is shown to one who subscribes in a handler was known before.
      place: this.#handlers.isWithin ? undefined : delivering?.place,
      // Where some messages have lost it, it is as with a broker that has none: a read decides, and may merge.
      certain: session.fresh || (this.#setting.kind.identifiers && !session.anonymous),
      notified: session.notified.has(String(entry.version)),
    })
    const what = `${entry.op} ${String(entry.version)} (${entry.source})`
    if (complaint) this.#complain(`${this.#setting.time.now} ms ${store.clientId} ${key} ${what}: ${complaint}`)
    this.#handled(client)
  }

  /** What a subscriber does before its handler returns, if it does. */
  #handled(client: Client): void {
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
      () => this.#watchAll(client, this.#setting.time.now % 2 ** KEYS),
      () => this.#leaveAndReturn(client),
    )
  }

  /** A handler closes its client; another one comes after a while. */
  #leaveAndReturn(client: Client): void {
    const { store, plan, index, session } = client
    if (session.shared || this.#clients[index] !== client || this.#setting.time.now > TROUBLE) return
    void store.close()
    this.#setting.time.after(50, () => {
      if (this.#clients[index] === client) this.#clients[index] = this.#open(index, plan)
    })
  }

  /** An answer came for which nobody waits any more, though there was time. */
  #answered(value: string): void {
    const write = this.#writes.find(one => one.value === value)
    if (write === undefined || write.client.closed || write.outcome !== 'outcome-unknown') return
    if (this.#setting.time.now - write.at < TIMEOUT * 0.9)
      this.#complain(`the answer of ${value} was given up before it came`)
  }

  /** Whoever has read a key on a connection cannot hear any more what became of writes on the one before. */
  #judgePatience(client: Client, key: string): void {
    if (client.session.delivering === undefined) return
    for (const { value, outcome, client: writer, key: written } of this.#writes)
      if (outcome === 'pending' && writer === client && written === key && client.session.wasSentEarlier(value))
        this.#complain(`${client.store.clientId} waits for ${value}, though ${key} was read on a later connection`)
  }

  /** When everybody has left nothing is left of them. */
  #judgeRest(): void {
    const { time } = this.#setting
    this.#handlers.stop()
    for (const { watchers } of this.#everyone)
      for (const { subscription } of Array.from(watchers)) subscription.unsubscribe()
    for (const { group } of this.#everyone) {
      group?.keys$.next([])
      group?.keys$.complete()
    }
    time.runUntil(time.now + LEAVE)
    for (const { store, clock, closed } of this.#everyone) {
      const { size } = store[HOST].registry
      if (size > 0) this.#complain(`${store.clientId} has ${size} watches left`)
      if (clock.pending > 0) this.#complain(`${store.clientId} has ${clock.pending} timers left`)
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
        this.#handled(client)
      },
      error: error => {
        write.outcome = this.#expectError(error)
        this.#handled(client)
      },
    })
  }

  #expectError(error: unknown): string {
    const code = error instanceof StateStoreError ? error.code : String(error)
    const { oddReply } = this.#schedule.conditions
    if (!EXPECTED.has(code) && !(oddReply && ODD.has(code))) this.#complain(`unexpected error ${code}`)
    return code
  }

  #judgeConvergence(): void {
    for (const client of this.#everyone) {
      for (const { key, oracle } of client.watchers) {
        const { engine } = this.#brokers[0] ?? {}
        const wrong = judgeShown(oracle.shown, engine ? heldBy(engine, key) : { op: 'absent' })
        if (!oracle.isLive) this.#complain(`${client.store.clientId} ${key} is not live`)
        if (wrong) this.#complain(`${client.store.clientId} ${key} did not converge: ${wrong}`)
      }
    }
    for (const i of this.#schedule.clients.keys()) this.#judgeRegistrations(`client${i}`)
  }

  #judgeRegistrations(clientId: string): void {
    const same = this.#everyone.filter(({ store }) => store.clientId === clientId)
    const watched = new Set(same.flatMap(({ watchers }) => Array.from(watchers, ({ key }) => key))).size
    const registered = this.#brokers.reduce((sum, broker) => sum + broker.watchesOf(clientId), 0)
    if (registered > watched && this.#closedAmidNonsense.has(clientId)) return
    // A watch that ends while the store is away has nobody to tell; what it had asked for may be heard by the next one.
    if (registered > watched && this.#schedule.beside) return
    if (watched !== registered) this.#complain(`${clientId} watches ${watched} keys, but ${registered} are registered`)
  }

  #complain(what: string): void {
    this.#violations.push(what)
  }
}
