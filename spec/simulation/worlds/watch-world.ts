import { Subject, Subscription } from 'rxjs'
import { compareState } from '../../../harness/judges/convergence.js'
import { isPossible, knowledgeOf } from '../../../harness/judges/outcomes.js'
import { WatchJudge } from '../../../harness/judges/watch.js'
import { type Entry, type Key, text } from '../../../src/client/index.js'
import { BesideBroker } from './beside.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { SharedEntries, SimNode } from './node.js'
import { storedEntry } from './recorded-engine.js'
import { type ClientPlan, FAULTY_MS, isWorldAction } from './schedule.js'
import { SimClient, TIMEOUT_MS } from './sim-client.js'
import type { SessionOptions } from './sim-session.js'
import { StoreWorld } from './store-world.js'
import { type KeyAction, MAX_KEYS, type WatchAction, type WatchSchedule } from './watch-schedule.js'
import { WatchSession } from './watch-session.js'

interface Watcher {
  readonly key: string
  readonly judge: WatchJudge
  readonly subscription: Subscription
}

/** The keys of a `watchAll`. */
interface Group {
  readonly keys$: Subject<readonly string[]>
  readonly members: Map<string, Watcher>
}

interface Write {
  readonly value: string
  readonly key: string
  readonly client: WatchClient
  /** In milliseconds. */
  readonly at: number
  outcome: string
  version: string | undefined
}

const TEARDOWN_MS = 60_000
const KEY_NAMES = Array.from({ length: MAX_KEYS }, (_, i) => `key${i}`)

class WatchClient extends SimClient<WatchSession> {
  readonly keys = KEY_NAMES.map(name => this.store.key(name, text))
  readonly watchers = new Set<Watcher>()
  group: Group | undefined
}

function brokersOf(setting: Setting, { nodes, beside }: WatchSchedule): readonly SimBroker[] {
  if (beside) return [new BesideBroker(setting)]
  if (nodes === undefined) return [new SimBroker(setting)]
  const cluster = new SharedEntries()
  return Array.from({ length: nodes }, () => new SimNode(setting, cluster))
}

/** A store with one or more brokers, and clients that watch and write its keys. */
export class WatchWorld extends StoreWorld<WatchAction, WatchSchedule, WatchClient> {
  protected readonly faultyMs = FAULTY_MS
  /** Outlasts every timeout, backoff and expiry of the time with faults. */
  protected readonly settleMs = 90_000
  readonly #brokers: readonly SimBroker[]
  readonly #writes: Write[] = []
  /**
   * Clients that were closed during odd replies on connections that stay open. A STOP that is sent only once may have
   * failed.
   */
  readonly #closedDuringOddReplies = new Set<string>()
  #isSettingKeys = false

  constructor(schedule: WatchSchedule) {
    super(schedule, schedule.beside && { instanceId: { name: 'life 0' } })
    this.#brokers = brokersOf(this.setting, schedule)
    for (const [i, broker] of this.#brokers.entries()) broker.isHanging = ((schedule.hanging ?? 0) & (1 << i)) > 0
    for (const i of schedule.clients.keys()) this.open(i)
  }

  protected override judge(): void {
    this.#judgeConvergence()
    for (const write of this.#writes) this.#judgeWrite(write)
    if (this.schedule.reentrancy) this.#judgeTeardown()
  }

  protected override create(i: number, plan: ClientPlan, connection?: WatchSession): WatchClient {
    const judge = {
      isAskedAgain: this.hasOddReplies || this.schedule.beside === true,
      complain: (what: string) => this.complain(what),
      answered: (value: string) => this.#judgeResponse(value),
    }
    const { time } = this.setting
    const connect = (options: SessionOptions): WatchSession =>
      connection ?? new WatchSession(this.#brokers, this.setting, options, judge)
    const client = new WatchClient(`client${i}`, plan, time, connect)
    client.onEvents(() => this.#handle(client))
    return client
  }

  protected override perform(action: WatchAction): void {
    if (action.type === 'restart') this.#brokers[action.node ?? 0]?.restart(action)
    else if (action.type === 'clock') for (const broker of this.#brokers) broker.setClock(action.back)
    else if (action.type === 'failover') {
      for (const broker of this.#brokers) if (broker instanceof BesideBroker) broker.failOver(action)
      // Notifications of the previous store may still arrive, on connections that were fresh for it.
      for (const { session } of this.everyone) session.isNewSession = false
    } else this.#performAtClient(action, this.clients[action.client])
  }

  #performAtClient(action: Extract<WatchAction, { client: number }>, client: WatchClient | undefined): void {
    if (client === undefined) return
    if (isWorldAction(action)) this.performWorld(client, action)
    else if (action.type === 'cut') client.session.cut()
    else if (action.type === 'move') client.session.move()
    else if (action.type === 'takeover') this.open(action.client)
    else if (action.type === 'watchAll') this.#watchAll(client, action.keys)
    else if (action.type === 'reopen') this.#reopen(action.client, client)
    else this.#performAtKey(client, action, client.keys[action.key])
  }

  #performAtKey(client: WatchClient, action: KeyAction, key: Key<string> | undefined): void {
    if (key === undefined) return
    const error = (cause: unknown): void => void this.expectError(cause)
    if (action.type === 'watch') this.#watch(client, key)
    else if (action.type === 'unwatch') this.#unwatch(client, key)
    else if (action.type === 'remount') this.#remount(client, key, action.pause)
    else if (action.type === 'set') this.#write(client, key, action.how)
    else if (action.type === 'delete') key.delete().subscribe({ error })
    else key.deleteIf(this.#writes.at(-1)?.value ?? 'none').subscribe({ error })
  }

  #reopen(i: number, client: WatchClient): void {
    if (!client.session.isShared) return
    const watched = Array.from(client.watchers, ({ key }) => key)
    if (this.setting.conditions.oddReply) this.#closedDuringOddReplies.add(client.name)
    void client.store.close()
    const next = this.open(i, client.session)
    for (const key of next?.keys ?? []) if (next && watched.includes(key.name)) this.#watch(next, key)
  }

  #watch(client: WatchClient, key: Key<string>): void {
    const watcher = this.#watcher(client, key.name)
    const { subscription } = watcher
    subscription.add(
      key.entries$.subscribe({
        next: entry => this.#onEntry(client, watcher, entry),
        error: cause => {
          this.expectError(cause)
          subscription.unsubscribe()
        },
        complete: () => subscription.unsubscribe(),
      }),
    )
    this.#watchFreshness(client, watcher, key)
  }

  /** Subscribes to entries before freshness, so that freshness handlers run last. */
  #watchAll(client: WatchClient, keys: number): void {
    // A handler that runs because of a change of the set does not change the set again.
    if (client.isEnded || this.#isSettingKeys) return
    this.#isSettingKeys = true
    client.group ??= this.#group(client)
    const { keys$, members } = client.group
    const names = KEY_NAMES.filter((_, i) => (keys >> i) & 1)
    for (const [name, watcher] of members)
      if (!names.includes(name)) {
        members.delete(name)
        watcher.subscription.unsubscribe()
      }
    const added = names.filter(name => !members.has(name))
    for (const name of added) members.set(name, this.#watcher(client, name))
    keys$.next(names)
    for (const name of added) {
      const [watcher, key] = [members.get(name), client.keys.find(one => one.name === name)]
      if (watcher && key) this.#watchFreshness(client, watcher, key)
    }
    this.#isSettingKeys = false
  }

  #group(client: WatchClient): Group {
    const group: Group = { keys$: new Subject(), members: new Map() }
    const end = (): void => {
      for (const { subscription } of group.members.values()) subscription.unsubscribe()
      group.members.clear()
    }
    client.store.watchAll(group.keys$, text).subscribe({
      next: entry => {
        const watcher = group.members.get(entry.key)
        if (watcher) this.#onEntry(client, watcher, entry)
        else this.complain(`${client.name} ${entry.key} is not watched, but emits`)
      },
      error: cause => {
        this.expectError(cause)
        end()
      },
    })
    client.store.status$.subscribe({ complete: end })
    return group
  }

  #watcher(client: WatchClient, key: string): Watcher {
    const hasDuplicates = this.schedule.conditions.duplicate > 0
    const judge = new WatchJudge(this.setting.history, key, {
      hasPositions: this.setting.kind.positions,
      hasDuplicates,
    })
    const watcher: Watcher = { key, judge, subscription: new Subscription() }
    client.watchers.add(watcher)
    watcher.subscription.add(() => client.watchers.delete(watcher))
    return watcher
  }

  #watchFreshness(client: WatchClient, watcher: Watcher, key: Key<string>): void {
    const { name, session, watchers } = client
    const { judge, subscription } = watcher
    const next = ({ state }: { readonly state: string }): void => {
      const isLive = state === 'live'
      const complaint = judge.setLive(isLive, this.handlers.isWithin ? undefined : session.delivering?.position)
      if (complaint) this.complain(`${name} ${key.name}: ${complaint}`)
      if (isLive) this.#judgePendingWrites(client, key.name)
      this.#handle(client)
    }
    subscription.add(key.freshness$.subscribe({ next, error: () => undefined }))
    const others = Array.from(watchers).filter(other => other.key === key.name && other !== watcher)
    // Other subscribers may not have received this entry yet.
    const [other] = this.handlers.isWithin ? [] : others
    if (judge.shown || others.length > 0) judge.joinLate(other?.judge)
  }

  #unwatch(client: WatchClient, key: Key<string>): number {
    const members = new Set(client.group?.members.values())
    const removed = Array.from(client.watchers).filter(watcher => watcher.key === key.name && !members.has(watcher))
    for (const { subscription } of removed) subscription.unsubscribe()
    return removed.length
  }

  #remount(client: WatchClient, key: Key<string>, pause: number): void {
    const count = this.#unwatch(client, key)
    const rewatch = (): void => {
      for (let i = 0; i < count; i++) this.#watch(client, key)
    }
    if (pause === 0) rewatch()
    else this.setting.time.after(pause, rewatch)
  }

  #write(client: WatchClient, key: Key<string>, how: 'plain' | 'NX' | 'NEX' | 'PX'): void {
    const value = `v${this.#writes.length}`
    const at = this.setting.time.now
    const write: Write = { value, key: key.name, client, at, outcome: 'pending', version: undefined }
    this.#writes.push(write)
    const options = {
      plain: {},
      NX: { ifAbsent: true },
      NEX: { ifAbsentOrEqual: true },
      PX: { expiresIn: this.setting.random.int(20, 2_000) },
    }[how]
    key.set(value, options).subscribe({
      next: ({ applied, version }) => {
        write.outcome = applied ? 'applied' : 'refused'
        write.version = String(version)
        this.#handle(client)
      },
      error: error => {
        write.outcome = this.expectError(error)
        this.#handle(client)
      },
    })
  }

  #onEntry(client: WatchClient, { key, judge }: Watcher, entry: Entry<string>): void {
    const { name, session } = client
    const { delivering } = session
    if (delivering === undefined && judge.shown !== undefined) this.complain(`${key} emitted without a message`)
    const complaint = judge.judge(entry, {
      // A subscriber that joins in a handler receives the previous entry.
      position: this.handlers.isWithin ? undefined : delivering?.position,
      // If some messages lack the identifier, a read decides, as with brokers without identifiers, and may merge
      // changes.
      isCertain: session.isNewSession || (this.setting.kind.identifiers && !session.lacksIdentifiers),
      wasDelivered: session.notified.has(String(entry.version)),
    })
    if (complaint) this.complain(`${name} ${key} ${entry.op} ${entry.version} (${entry.source}): ${complaint}`)
    this.#handle(client)
  }

  /** Performs the reentrant actions of a handler. */
  #handle(client: WatchClient): void {
    const { now } = this.setting.time
    const key = client.keys[now % 2]
    if (key === undefined) return
    this.handlers.handle(
      () => this.#watch(client, key),
      () => this.#watch(client, key),
      () => this.#unwatch(client, key),
      () => this.#unwatch(client, key),
      () => this.#remount(client, key, 0),
      () => this.#write(client, key, 'plain'),
      () => key.delete().subscribe({ error: error => void this.expectError(error) }),
      () => this.#watchAll(client, now % 2 ** MAX_KEYS),
      () => this.#replace(client),
    )
  }

  /** Closes a client from a handler, and creates another client after a pause. */
  #replace(client: WatchClient): void {
    const i = this.clients.indexOf(client)
    if (client.session.isShared || i < 0 || this.setting.time.now > FAULTY_MS) return
    void client.store.close()
    this.setting.time.after(50, () => {
      if (this.clients[i] === client) this.open(i)
    })
  }

  /** Checks that the request of an arriving response was not abandoned before its timeout. */
  #judgeResponse(value: string): void {
    const write = this.#writes.find(one => one.value === value)
    if (write === undefined || write.client.isEnded || write.outcome !== 'outcome-unknown') return
    if (this.setting.time.now - write.at < TIMEOUT_MS * 0.9)
      this.complain(`the request for ${value} was abandoned before its response arrived`)
  }

  /**
   * Checks that a client that has read a key on a connection no longer waits for writes sent on an earlier connection.
   */
  #judgePendingWrites(client: WatchClient, key: string): void {
    if (client.session.delivering === undefined) return
    for (const { value, outcome, client: writer, key: written } of this.#writes)
      if (outcome === 'pending' && writer === client && written === key && client.session.wasSentEarlier(value))
        this.complain(`${client.name} still waits for ${value}, although ${key} was read on a later connection`)
  }

  #judgeWrite({ value, outcome, version }: Write): void {
    const applied = this.setting.history.all.filter(change => change.value === value)
    const isCorrect =
      isPossible(knowledgeOf(outcome) ?? 'open', applied.length) &&
      (outcome !== 'applied' || applied[0]?.version === version)
    if (outcome === 'pending') this.complain(`write ${value} has not ended`)
    if (!isCorrect) this.complain(`write ${value} ended as ${outcome}, but was applied ${applied.length} times`)
  }

  #judgeConvergence(): void {
    const { engine } = this.#brokers[0] ?? {}
    for (const { name, watchers } of this.everyone) {
      for (const { key, judge } of watchers) {
        const wrong = compareState(judge.shown, engine ? storedEntry(engine, key) : { op: 'absent' })
        if (!judge.isLive) this.complain(`${name} ${key} is not live`)
        if (wrong) this.complain(`${name} ${key} did not converge: ${wrong}`)
      }
    }
    for (const i of this.schedule.clients.keys()) this.#judgeRegistrations(`client${i}`)
  }

  #judgeRegistrations(name: string): void {
    const same = this.everyone.filter(client => client.name === name)
    const watched = new Set(same.flatMap(({ watchers }) => Array.from(watchers, ({ key }) => key))).size
    const registered = this.#brokers.reduce((sum, broker) => sum + broker.watchesOf(name), 0)
    if (registered > watched && this.#closedDuringOddReplies.has(name)) return
    // A watch that ends while the store is down cannot unregister, so the next store may receive the pending request of
    // the watch.
    if (registered > watched && this.schedule.beside) return
    if (watched !== registered) this.complain(`${name} watches ${watched} keys, but ${registered} are registered`)
  }

  /** Checks that nothing is left when all subscribers have left. */
  #judgeTeardown(): void {
    this.handlers.stop()
    for (const { watchers } of this.everyone)
      for (const { subscription } of Array.from(watchers)) subscription.unsubscribe()
    for (const { group } of this.everyone) {
      group?.keys$.next([])
      group?.keys$.complete()
    }
    this.runFor(TEARDOWN_MS)
    for (const client of this.everyone) {
      this.judgeLeftovers(client)
      if (!client.isEnded) this.#judgeRegistrations(client.name)
    }
  }
}
