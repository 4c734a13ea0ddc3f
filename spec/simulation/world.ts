import { Subscription } from 'rxjs'
import { StateStore } from '../../src/client.js'
import { type Entry, type Freshness, type Key, StateStoreError, text } from '../../src/index.js'
import { type Sabotage, type Setting, SimBroker } from './broker.js'
import { History } from './history.js'
import { CALM } from './network.js'
import { Oracle } from './oracle.js'
import { Random } from './random.js'
import { type Action, type ClientPlan, KEYS, type KeyAction, type Schedule, TROUBLE } from './schedule.js'
import { SimSession } from './sim-session.js'
import { VirtualTime } from './virtual-time.js'

/** What came of a simulation. */
export interface Verdict {
  readonly violations: readonly string[]
  readonly entries: number
  readonly writes: Readonly<Record<string, number>>
  readonly changes: number
}

interface Watcher {
  readonly key: string
  readonly oracle: Oracle
  readonly subscription: Subscription
}

interface Client {
  readonly store: StateStore
  readonly session: SimSession
  readonly keys: readonly Key<string>[]
  readonly watchers: Set<Watcher>
}

interface Write {
  readonly value: string
  outcome: string
  version: string | undefined
}

/** Long enough for every timeout, backoff and expiry of the troubled time. */
const SETTLE = 90_000
const TIMEOUT = 1_000

/** A store, clients and a network on virtual time. */
export class World {
  readonly #schedule: Schedule
  readonly #setting: Setting
  readonly #broker: SimBroker
  /** The client of each plan, and all that ever were: one that was replaced may come back and fight for the session. */
  readonly #clients: Client[] = []
  readonly #everyone: Client[] = []
  readonly #writes: Write[] = []
  readonly #violations: string[] = []
  #entries = 0

  constructor(schedule: Schedule, sabotage?: Sabotage) {
    this.#schedule = schedule
    const random = new Random(schedule.seed ^ 0x5eed)
    this.#setting = {
      sabotage,
      time: new VirtualTime(),
      random,
      conditions: { ...schedule.conditions },
      history: new History(),
    }
    this.#broker = new SimBroker(this.#setting)
    for (const [i, plan] of schedule.clients.entries()) this.#clients.push(this.#open(i, plan))
  }

  run(): Verdict {
    const { time, conditions, history } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#do(action))
    time.runUntil(TROUBLE)
    Object.assign(conditions, CALM)
    time.runUntil(TROUBLE + SETTLE)
    this.#judgeConvergence()
    this.#judgeWrites()
    for (const { store } of this.#everyone) void store.close()
    const writes: Record<string, number> = {}
    for (const { outcome } of this.#writes) writes[outcome] = (writes[outcome] ?? 0) + 1
    return { violations: this.#violations, entries: this.#entries, writes, changes: history.all.length }
  }

  #open(i: number, plan: ClientPlan): Client {
    const session = new SimSession(this.#broker, this.#setting, { clientId: `client${i}`, ...plan })
    const clock = this.#setting.time.clock(plan.clockOffset)
    const store = new StateStore(session, { clock, timeout: TIMEOUT, queueLimit: 1_000, stopDelay: 0 })
    const keys = Array.from({ length: KEYS }, (_, key) => store.key(`key${key}`, text))
    const client = { store, session, keys, watchers: new Set<Watcher>() }
    this.#everyone.push(client)
    return client
  }

  #do(action: Action): void {
    if (action.type === 'restart') {
      this.#broker.stop(action.keepData, action.keepSessions)
      this.#setting.time.after(action.outage, () => this.#broker.start())
      return
    }
    const client = this.#clients[action.client]
    const plan = this.#schedule.clients[action.client]
    if (client === undefined || plan === undefined) return
    if (action.type === 'cut') client.session.cut()
    else if (action.type === 'takeover') this.#clients[action.client] = this.#open(action.client, plan)
    else this.#touch(client, action, client.keys[action.key])
  }

  #touch(client: Client, action: KeyAction, key: Key<string> | undefined): void {
    if (key === undefined) return
    const error = (cause: unknown): void => void this.#expectError(cause)
    if (action.type === 'watch') this.#watch(client, key)
    else if (action.type === 'unwatch') this.#unwatch(client, key)
    else if (action.type === 'set') this.#write(key, action.how)
    else if (action.type === 'delete') key.delete().subscribe({ error })
    else key.deleteIf(this.#lastValue()).subscribe({ error })
  }

  #lastValue(): string {
    return this.#writes.at(-1)?.value ?? 'none'
  }

  #watch(client: Client, key: Key<string>): void {
    const oracle = new Oracle(this.#setting.history, key.name)
    const subscription = new Subscription()
    const watcher: Watcher = { key: key.name, oracle, subscription }
    client.watchers.add(watcher)
    subscription.add(() => client.watchers.delete(watcher))
    const error = (cause: unknown): void => {
      this.#expectError(cause)
      subscription.unsubscribe()
    }
    subscription.add(key.entries$.subscribe({ next: entry => this.#hear(client, watcher, entry), error }))
    const fresh = ({ state }: Freshness): void => oracle.live(state === 'live', client.session.delivering?.place)
    subscription.add(key.freshness$.subscribe({ next: fresh, error: () => undefined }))
  }

  #unwatch(client: Client, key: Key<string>): void {
    client.session.fresh = false
    for (const { key: name, subscription } of Array.from(client.watchers))
      if (name === key.name) subscription.unsubscribe()
  }

  #hear({ store, session }: Client, { key, oracle }: Watcher, entry: Entry<string>): void {
    this.#entries++
    const place = session.delivering?.place
    if (place === undefined && oracle.shown !== undefined) this.#complain(`${key} said something out of nothing`)
    const complaint = oracle.judge(entry, { place, strict: session.fresh })
    if (complaint === undefined) return
    const what = `${entry.op} ${String(entry.version)} (${entry.source})`
    this.#complain(`${this.#setting.time.now} ms ${store.clientId} ${key} ${what}: ${complaint}`)
  }

  #write(key: Key<string>, how: 'plain' | 'NX' | 'NEX' | 'PX'): void {
    const write: Write = { value: `v${this.#writes.length}`, outcome: 'pending', version: undefined }
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
      },
      error: error => {
        write.outcome = this.#expectError(error)
      },
    })
  }

  #expectError(error: unknown): string {
    const code = error instanceof StateStoreError ? error.code : String(error)
    if (!['timeout', 'outcome-unknown', 'closed'].includes(code)) this.#complain(`unexpected error ${code}`)
    return code
  }

  #judgeConvergence(): void {
    for (const client of this.#everyone) {
      for (const { key, oracle } of client.watchers) {
        const record = this.#broker.engine.peek(new TextEncoder().encode(key))
        const truth = record ? `set ${record.version}` : 'nothing'
        const shown = oracle.shown?.op === 'set' ? `set ${String(oracle.shown.version)}` : oracle.shown && 'nothing'
        if (shown !== truth)
          this.#complain(`${client.store.clientId} ${key} did not converge: shows ${shown}, is ${truth}`)
      }
    }
    for (const i of this.#schedule.clients.keys()) this.#judgeRegistrations(`client${i}`)
  }

  #judgeRegistrations(clientId: string): void {
    const same = this.#everyone.filter(({ store }) => store.clientId === clientId)
    const watched = new Set(same.flatMap(({ watchers }) => Array.from(watchers, ({ key }) => key))).size
    const registered = this.#broker.watchesOf(clientId)
    if (watched !== registered) this.#complain(`${clientId} watches ${watched} keys, but ${registered} are registered`)
  }

  #judgeWrites(): void {
    const { all } = this.#setting.history
    for (const { value, outcome, version } of this.#writes) {
      const applied = all.filter(change => change.value === value)
      const most = outcome === 'applied' || outcome === 'outcome-unknown' ? 1 : 0
      const least = outcome === 'applied' ? 1 : 0
      const right =
        applied.length >= least && applied.length <= most && (least === 0 || applied[0]?.version === version)
      if (!right) this.#complain(`write ${value} ended as ${outcome}, but was applied ${applied.length} times`)
    }
  }

  #complain(what: string): void {
    this.#violations.push(what)
  }
}
