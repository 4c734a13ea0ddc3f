import { Subscription } from 'rxjs'
import { compareGlobView, compareState } from '../../../harness/judges/convergence.js'
import { GlobJudge, globMatcher } from '../../../harness/judges/glob.js'
import { type Entry, text } from '../../../src/client/index.js'
import { matching } from '../../../src/client/matching/index.js'
import type { OutboundRequest } from '../../../src/client/session/session.js'
import { encodeArray } from '../../../src/core/resp3/encode.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { SimBroker } from './broker.js'
import type { ClientEnd, Setting } from './connection.js'
import { GLOB_KEYS, GLOBS, type GlobAction, type GlobSchedule } from './glob-schedule.js'
import { GlobSession } from './glob-session.js'
import { storedEntry } from './recorded-engine.js'
import { type ClientPlan, FAULTY_MS, isWorldAction } from './schedule.js'
import { SimClient } from './sim-client.js'
import type { SessionOptions } from './sim-session.js'
import { StoreWorld } from './store-world.js'

interface Watcher {
  readonly glob: string
  readonly judge: GlobJudge
  readonly subscription: Subscription
  map: ReadonlyMap<string, string> | undefined
}

/** A subscriber of a single key in addition to the globs. The judge for keys checks its entries. */
interface KeyWatcher {
  readonly subscription: Subscription
  shown: Entry<string> | undefined
}

class GlobClient extends SimClient<GlobSession> {
  readonly watchers = new Set<Watcher>()
  readonly keys = new Map<string, KeyWatcher>()
}

const TEARDOWN_MS = 5_000
/** Outlasts the requests to a store that does not support them. */
const GIVE_UP_MS = 295_000
const GLOB_OPTIONS = { maxKeys: GLOB_KEYS.length, scanInterval: 700 }
const UNKNOWN_COMMAND = encodeArray([utf8('NOBODY-KNOWS'), utf8('x')])

/** A broker whose store may support globs only in SCAN. */
class GlobBroker extends SimBroker {
  readonly #hasGlobNotifications: boolean

  constructor(setting: Setting, hasGlobNotifications: boolean) {
    super(setting)
    this.#hasGlobNotifications = hasGlobNotifications
  }

  override publish(end: ClientEnd, request: OutboundRequest, acknowledged: () => void): void {
    const isKnown = this.#hasGlobNotifications || !new TextDecoder().decode(request.payload).includes('GLOBNOTIFY')
    super.publish(end, isKnown ? request : { ...request, payload: UNKNOWN_COMMAND }, acknowledged)
  }
}

/** A store, and clients that watch globs. */
export class GlobWorld extends StoreWorld<GlobAction, GlobSchedule, GlobClient> {
  protected readonly faultyMs = FAULTY_MS
  /** Outlasts every timeout, backoff and expiry of the time with faults. */
  protected readonly settleMs = 90_000
  readonly #broker: GlobBroker
  /** Clients with keys whose separate watch has ended, although a read of this watch may still be pending. */
  readonly #watchedSeparately = new Set<string>()
  /**
   * Clients that were closed during odd replies on connections that stay open. A STOP that is sent only once may have
   * failed.
   */
  readonly #closedDuringOddReplies = new Set<string>()
  #writes = 0

  constructor(schedule: GlobSchedule) {
    super(schedule)
    this.#broker = new GlobBroker(this.setting, schedule.hasGlobNotifications)
    for (const i of schedule.clients.keys()) this.open(i)
  }

  protected override judge(): void {
    const clients = this.clients.flatMap(client => client ?? [])
    for (const client of clients) this.#judgeConvergence(client)
    for (const client of clients) this.#judgeRegistrations(client)
    this.handlers.stop()
    for (const { watchers, keys } of clients) {
      for (const { subscription } of Array.from(watchers)) subscription.unsubscribe()
      for (const { subscription } of keys.values()) subscription.unsubscribe()
    }
    this.runFor(TEARDOWN_MS)
    for (const client of clients) {
      const left = this.#broker.watchesOf(client.name)
      if (left > 0 && this.#knowsRegistrations(client)) this.complain(`${client.name} left ${left} registrations`)
    }
    if (!this.schedule.reentrancy) return
    this.runFor(GIVE_UP_MS)
    for (const client of clients) this.judgeLeftovers(client)
  }

  protected override create(i: number, plan: ClientPlan, connection?: GlobSession): GlobClient {
    const connect = (options: SessionOptions): GlobSession =>
      connection ?? new GlobSession(this.#broker, this.setting, options)
    const client = new GlobClient(`client${i}`, plan, this.setting.time, connect)
    client.onEvents(() => this.#handle(client))
    return client
  }

  protected override perform(action: GlobAction): void {
    if (action.type === 'restart') {
      this.#broker.restart(action)
      return
    }
    const client = this.clients[action.client]
    if (client === undefined) return
    if (isWorldAction(action)) this.performWorld(client, action)
    else if ('key' in action) this.#performAtKey(client, action.type, GLOB_KEYS[action.key] ?? '')
    else if (action.type === 'watch') this.#watch(client, GLOBS[action.glob] ?? '*')
    else if (action.type === 'unwatch') this.#unwatch(client, GLOBS[action.glob] ?? '*')
    else if (action.type === 'reopen' && client.session.isShared) this.#reopen(action.client, client)
    else client.session.cut()
  }

  #reopen(i: number, client: GlobClient): void {
    const globs = Array.from(client.watchers, ({ glob }) => glob)
    if (this.setting.conditions.oddReply) this.#closedDuringOddReplies.add(client.name)
    void client.store.close()
    const next = this.open(i, client.session)
    for (const glob of globs) if (next) this.#watch(next, glob)
  }

  #performAtKey(client: GlobClient, type: 'set' | 'delete' | 'expire' | 'watchKey' | 'unwatchKey', name: string): void {
    const key = client.store.key(name, text)
    const error = (cause: unknown): void => void this.expectError(cause)
    if (type === 'watchKey') this.#watchKey(client, name)
    else if (type === 'unwatchKey') {
      const watcher = client.keys.get(name)
      // Deletes the name first, because the callback may watch the key again.
      client.keys.delete(name)
      watcher?.subscription.unsubscribe()
    } else if (type === 'delete') key.delete().subscribe({ error })
    else key.set(`v${this.#writes++}`, type === 'expire' ? { expiresIn: 300 } : {}).subscribe({ error })
  }

  #watchKey(client: GlobClient, name: string): void {
    if (client.keys.has(name)) return
    this.#watchedSeparately.add(`${client.name} ${name}`)
    const watcher: KeyWatcher = { subscription: new Subscription(), shown: undefined }
    client.keys.set(name, watcher)
    const key = client.store.key(name, text)
    const next = (entry: Entry<string>): void => {
      watcher.shown = entry
      this.#handle(client)
    }
    watcher.subscription.add(key.entries$.subscribe({ next, error: cause => void this.expectError(cause) }))
    watcher.subscription.add(key.freshness$.subscribe({ next: () => this.#handle(client), error: () => undefined }))
  }

  #unwatch({ watchers }: GlobClient, glob: string): void {
    for (const watcher of Array.from(watchers)) if (watcher.glob === glob) watcher.subscription.unsubscribe()
  }

  #watch(client: GlobClient, glob: string): void {
    const { kind, history } = this.setting
    const { hasGlobNotifications, conditions } = this.schedule
    const judge = new GlobJudge(history, {
      hasPositions: kind.positions,
      hasDuplicates: conditions.duplicate > 0,
      everyChange: hasGlobNotifications && kind.positions && kind.order === 'connection',
      fits: globMatcher(glob),
    })
    const subscription = new Subscription()
    const watcher: Watcher = { glob, judge, subscription, map: undefined }
    client.watchers.add(watcher)
    subscription.add(() => client.watchers.delete(watcher))
    const keys = matching(client.store, glob, text, GLOB_OPTIONS)
    subscription.add(
      keys.entries$.subscribe({
        next: entry => this.#onEntry(client, watcher, entry),
        error: cause => {
          this.expectError(cause)
          subscription.unsubscribe()
        },
        complete: () => subscription.unsubscribe(),
      }),
    )
    subscription.add(
      keys.freshness$.subscribe({
        next: ({ state }) => {
          judge.setLive(state === 'live', this.handlers.isWithin ? undefined : client.session.delivering?.position)
          this.#handle(client)
        },
        error: () => undefined,
      }),
    )
    subscription.add(
      keys.map$.subscribe({
        next: map => {
          watcher.map = map
          this.#handle(client)
        },
        error: () => undefined,
      }),
    )
  }

  #onEntry(client: GlobClient, { glob, judge }: Watcher, entry: Entry<string>): void {
    const { name, session } = client
    // A subscriber that joins in a handler receives the previous entry.
    const position = this.handlers.isWithin ? undefined : session.delivering?.position
    const complaint = judge.judge(entry, {
      position,
      isCertain: session.isNewSession || this.setting.kind.identifiers,
      wasDelivered: session.notified.has(String(entry.version)),
      hasNotifications: position !== undefined && !session.hasGivenUp(glob),
      separateWatch: session.separateWatchOf(entry.key),
      isOnlyWatcher: !this.#watchedSeparately.has(`${name} ${entry.key}`),
    })
    const what = `${entry.key} ${entry.op} ${entry.version} (${entry.source})`
    if (complaint) this.complain(`${name} ${glob} ${what}: ${complaint}`)
    this.#handle(client)
  }

  /** Performs the reentrant actions of a handler. */
  #handle(client: GlobClient): void {
    const { now } = this.setting.time
    const glob = GLOBS[now % GLOBS.length] ?? '*'
    const key = GLOB_KEYS[now % GLOB_KEYS.length] ?? ''
    const types = this.schedule.handlersWatchKeys
      ? (['watchKey', 'unwatchKey', 'set', 'delete'] as const)
      : (['set', 'delete'] as const)
    this.handlers.handle(
      () => this.#watch(client, glob),
      () => this.#watch(client, glob),
      () => this.#unwatch(client, glob),
      () => this.#unwatch(client, glob),
      ...types.map(type => () => this.#performAtKey(client, type, key)),
    )
  }

  #judgeConvergence({ name, watchers, keys }: GlobClient): void {
    const stored = new Map(GLOB_KEYS.map(key => [key, storedEntry(this.#broker.engine, key)]))
    for (const [key, { shown }] of keys) {
      const wrong = compareState(shown ?? { op: 'absent' }, storedEntry(this.#broker.engine, key))
      if (wrong) this.complain(`${name} ${key} did not converge: ${wrong}`)
    }
    for (const { glob, judge, map } of watchers) {
      const view = { isLive: judge.isLive, last: (key: string) => judge.shown(key), map, fits: globMatcher(glob) }
      for (const wrong of compareGlobView(view, stored)) this.complain(`${name} ${glob} did not converge: ${wrong}`)
    }
  }

  /** Returns whether the registrations are known. They are not after a false rejection. */
  #knowsRegistrations({ name, session }: GlobClient): boolean {
    return !session.hasRefused && !this.#closedDuringOddReplies.has(name)
  }

  #judgeRegistrations(client: GlobClient): void {
    if (!this.#knowsRegistrations(client)) return
    const { name, watchers, session } = client
    const globs = new Set(this.schedule.hasGlobNotifications ? Array.from(watchers, ({ glob }) => glob) : [])
    for (const glob of globs) if (session.isScannedFor(glob)) this.complain(`${name} ${glob} is still scanned`)
    const registered = Math.floor(this.#broker.watchesOf(name) / 100)
    if (globs.size !== registered)
      this.complain(`${name} watches ${globs.size} globs, but ${registered} are registered`)
  }
}
