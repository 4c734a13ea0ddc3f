import { text } from '../../src/client/index.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { History } from './history.js'
import { FAULTLESS } from './network.js'
import { KEY, type UserWrite } from './optimistic-oracle.js'
import { Page, type PageWorld } from './optimistic-page.js'
import { judgeWrites } from './optimistic-policies.js'
import { OPTIMISTIC_FAULTY_MS, type OptimisticAction, type OptimisticSchedule } from './optimistic-schedule.js'
import { SimStorage } from './optimistic-storage.js'
import { Random } from './random.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import { seeded } from './simulate.js'
import { VirtualTime } from './virtual-time.js'

export interface OptimisticResult {
  readonly violations: readonly string[]
  readonly outcomes: Readonly<Record<string, number>>
}

/** Outlasts pending requests, repeated reads and timeouts. */
const SETTLE_MS = 75_000

const TEARDOWN_MS = 60_000

/** The time in milliseconds after which a storage has stored a write. */
const STORAGE_DELAY_MS = 100

/** A store, pages that write one key, and a network on virtual time. */
export class OptimisticWorld {
  readonly #schedule: OptimisticSchedule
  readonly #setting: Setting
  readonly #shared: PageWorld
  readonly #storages: readonly SimStorage[]
  readonly #writes = new Map<string, UserWrite>()
  readonly #handlers: ReentrantHandlers
  readonly #pages: (Page | undefined)[] = []
  readonly #everyone: Page[] = []
  readonly #violations: string[] = []
  #others = 0

  constructor(schedule: OptimisticSchedule) {
    this.#schedule = schedule
    this.#handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    const [time, random] = [new VirtualTime(), new Random(schedule.seed ^ 0x5eed)]
    const history = new History(() => time.now)
    const conditions = { ...schedule.conditions }
    this.#setting = { kind: schedule.kind, time, random, conditions, history }
    const complain = (what: string): void => void this.#violations.push(what)
    this.#shared = {
      broker: new SimBroker(this.#setting),
      setting: this.#setting,
      writes: this.#writes,
      isOdd: (conditions.oddReply ?? 0) > 0,
      isShared: storage =>
        storage !== undefined &&
        (schedule.storageFailure > 0 || schedule.clients.filter(plan => plan.storage === storage).length > 1),
      complain,
      handlers: this.#handlers,
      handled: page => this.#handled(page),
    }
    this.#storages = schedule.clients.map(() => new SimStorage(time, random, schedule.storageFailure))
    for (const i of schedule.clients.keys()) this.#open(i)
  }

  run(): OptimisticResult {
    const { time, conditions, history } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#do(action))
    time.runUntil(OPTIMISTIC_FAULTY_MS)
    this.#handlers.stop()
    // Subscribers that unsubscribed in a handler subscribe again.
    for (const page of this.#pages) if (page && !page.isClosed) page.loop.run(() => page.subscribe())
    Object.assign(conditions, FAULTLESS)
    for (const storage of this.#storages) storage.isReliable = true
    time.runUntil(OPTIMISTIC_FAULTY_MS + SETTLE_MS)
    for (const page of this.#pages) if (page) this.#judgeEnd(page)
    const writes = Array.from(this.#writes.values()).filter(({ outcome }) => outcome !== 'part')
    this.#violations.push(...judgeWrites(writes, history))
    if (this.#schedule.reentrancy) this.#judgeLeftovers()
    for (const page of this.#pages) page?.close()
    const outcomes: Record<string, number> = {}
    for (const { outcome } of writes) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    return { violations: this.#violations, outcomes }
  }

  #open(i: number): void {
    const plan = this.#schedule.clients[i]
    if (plan === undefined) return
    const storage = plan.storage === undefined ? undefined : this.#storages[plan.storage]
    const page = new Page(`client${i}`, plan, storage, this.#shared)
    this.#pages[i] = page
    this.#everyone.push(page)
    page.subscribe()
  }

  #do(action: OptimisticAction): void {
    if (action.type === 'restart') {
      this.#shared.broker.restart(action)
      return
    }
    const page = this.#pages[action.client]
    if (page === undefined) return
    if (action.type === 'cut') page.session.cut()
    else if (action.type === 'freeze') page.loop.freeze(action.time, action.first)
    else if (action.type === 'reload') this.#reload(action.client, page, action.pause)
    else page.loop.run(() => this.#act(page, action))
  }

  #act(page: Page, action: OptimisticAction): void {
    const error = (): void => undefined
    const key = page.store.key(KEY, text)
    if (action.type === 'set') for (let i = 0; i < action.times; i++) page.set()
    else if (action.type === 'plain') key.set(`o${++this.#others}`).subscribe({ error })
    else if (action.type === 'expiring') key.set(`o${++this.#others}`, { expiresIn: 200 }).subscribe({ error })
    else if (action.type === 'delete') key.delete().subscribe({ error })
    else if (action.type === 'blink') this.#resubscribe(page, action.pause)
  }

  #handled(page: Page): void {
    const error = (): void => undefined
    this.#handlers.handle(
      () => page.unsubscribe(),
      () => page.subscribe(),
      () => {
        page.unsubscribe()
        page.subscribe()
      },
      () => page.subscribeAgain(true),
      () => page.subscribeAgain(false),
      () => page.unsubscribeExtra(),
      () => page.set(),
      () => page.set(),
      () => page.store.key(KEY, text).delete().subscribe({ error }),
      () => this.#reloadInHandler(page),
    )
  }

  #reloadInHandler(page: Page): void {
    const i = this.#pages.indexOf(page)
    if (i >= 0 && !page.isClosed) this.#reload(i, page, 50)
  }

  #judgeLeftovers(): void {
    const { time } = this.#setting
    for (const page of this.#pages) page?.leave()
    // A one-time subscriber that is the only subscriber must not leave anything behind either.
    for (const page of this.#pages) page?.subscribeAgain(true)
    time.runUntil(time.now + TEARDOWN_MS)
    for (const page of this.#everyone) {
      const { size } = page.store[HOST].registry
      if (size > 0) this.#shared.complain(`${page.name} still has ${size} watches`)
      if (page.loop.timers > 0) this.#shared.complain(`${page.name} still has ${page.loop.timers} timers`)
      const registered = this.#shared.broker.watchesOf(page.name)
      if (!page.isClosed && registered > 0 && !this.#shared.isOdd)
        this.#shared.complain(`${page.name} still has ${registered} registrations`)
    }
  }

  #resubscribe(page: Page, pause: number): void {
    page.unsubscribe()
    if (pause === 0) page.subscribe()
    else this.#setting.time.after(pause, () => page.loop.run(() => page.subscribe()))
  }

  #reload(i: number, page: Page, pause: number): void {
    page.close()
    // A storage that was too slow still has the previous content.
    for (const write of this.#writes.values())
      if (write.by === page.name && write.at > this.#setting.time.now - STORAGE_DELAY_MS)
        write.isShared ||= write.isKept
    this.#pages[i] = undefined
    this.#setting.time.after(pause, () => this.#open(i))
  }

  #judgeEnd(page: Page): void {
    const { shown } = page.oracle
    const record = this.#shared.broker.engine.peek(new TextEncoder().encode(KEY))
    const truth = record && new TextDecoder().decode(record.value)
    if (shown?.state !== 'confirmed' && shown?.state !== 'refused')
      this.#shared.complain(`${page.name} is ${shown?.state} at the end`)
    if (shown?.value !== truth || (record && String(shown?.version) !== String(record.version)))
      this.#shared.complain(`${page.name} did not converge: shows ${shown?.value}, is ${truth}`)
  }
}

export const simulateOptimistic = (schedule: OptimisticSchedule): OptimisticResult =>
  seeded(schedule.seed, () => new OptimisticWorld(schedule).run())
