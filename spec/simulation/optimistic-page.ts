import { Observable, type ObservableInput, Subscription, take } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { type ErrorCode, StateStoreError, text } from '../../src/client/index.js'
import { type LateWrite, type Optimistic, type OptimisticState, optimistic } from '../../src/client/optimistic/index.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { EventLoop } from './event-loop.js'
import { KEY, PageOracle, type UserWrite } from './optimistic-oracle.js'
import type { WriterPlan } from './optimistic-schedule.js'
import type { SimStorage } from './optimistic-storage.js'
import type { ReentrantHandlers } from './reentrant-handlers.js'
import { SimSession } from './sim-session.js'

export const TIMEOUT_MS = 1_000

export interface PageWorld {
  readonly broker: SimBroker
  readonly setting: Setting
  /** The writes by value, including the writes that a merge made. */
  readonly writes: Map<string, UserWrite>
  readonly isOdd: boolean
  readonly isShared: (storage: number | undefined) => boolean
  readonly complain: (what: string) => void
  readonly handlers: ReentrantHandlers
  readonly handled: (page: Page) => void
}

/** A page whose user writes one key. */
export class Page {
  readonly name: string
  readonly loop: EventLoop
  readonly session: SimSession
  readonly store: StateStore
  readonly oracle: PageOracle
  readonly #world: PageWorld
  readonly #plan: WriterPlan
  readonly #view: Optimistic<string>
  #subscription: Subscription | undefined
  readonly #besides = new Set<Subscription>()
  #isUp = false
  isClosed = false

  constructor(name: string, plan: WriterPlan, storage: SimStorage | undefined, world: PageWorld) {
    const { setting, broker } = world
    this.name = name
    this.#world = world
    this.#plan = plan
    this.loop = new EventLoop(setting.time, plan.clockOffset)
    this.session = new SimSession(broker, setting, { clientId: name, run: this.loop.run, ...plan })
    const settings = { clock: this.loop.clock(), timeout: TIMEOUT_MS, maxQueued: 1_000, stopDelay: 0 }
    this.store = new StateStore(this.session, settings)
    this.store.status$.subscribe(({ state }) => {
      this.#isUp = state === 'connected'
    })
    this.oracle = new PageOracle(setting.history, world.writes)
    const { offline, maxAge, conflict } = plan
    const isWaiting = offline !== undefined && offline !== 'drop'
    this.#view = optimistic(this.store.key(KEY, text), {
      conflict: conflict === 'merge' ? (mine, theirs) => this.#merge(mine, theirs) : conflict,
      offline,
      ...(isWaiting ? { maxAge, storage: storage?.port() } : {}),
      ...(offline === 'ask' ? { ask: late => this.#ask(late) } : {}),
    })
    this.store.status$.subscribe(() => world.handled(this))
    this.store.errors$.subscribe(() => world.handled(this))
  }

  get isSubscribed(): boolean {
    return this.#subscription !== undefined
  }

  subscribe(): void {
    if (this.#subscription) return
    this.oracle.begin()
    const subscription = new Subscription()
    this.#subscription = subscription
    const states = this.#view.state$.subscribe({
      next: state => {
        if (this.#subscription === subscription) this.#onState(state)
        this.#world.handled(this)
      },
      error: error => {
        this.#checkError(error)
        this.#world.handled(this)
      },
    })
    subscription.add(states)
  }

  unsubscribe(): void {
    const subscription = this.#subscription
    this.#subscription = undefined
    subscription?.unsubscribe()
  }

  /** Adds a subscription until the first state or until unsubscribed. */
  subscribeAgain(isOnce: boolean): void {
    const beside = new Subscription()
    this.#besides.add(beside)
    beside.add(() => this.#besides.delete(beside))
    const states$ = this.#view.state$.pipe(take(isOnce ? 1 : Number.POSITIVE_INFINITY))
    const end = (): void => beside.unsubscribe()
    beside.add(states$.subscribe({ next: () => this.#world.handled(this), error: end, complete: end }))
  }

  unsubscribeExtra(): void {
    for (const beside of Array.from(this.#besides)) beside.unsubscribe()
  }

  /** Unsubscribes the page and checks that nothing remains. */
  leave(): void {
    this.unsubscribe()
    this.unsubscribeExtra()
  }

  set(): void {
    const { setting, writes, handlers } = this.#world
    const { offline: policy, conflict, maxAge, storage } = this.#plan
    const value = `v${writes.size}`
    const canWait = policy !== undefined && policy !== 'drop'
    const offline = !this.#isUp
    const write: UserWrite = {
      value,
      by: this.name,
      at: setting.time.now,
      limit: canWait ? (offline ? maxAge : Math.max(maxAge, TIMEOUT_MS)) : TIMEOUT_MS,
      offline,
      policy,
      conflict,
      isKept: storage !== undefined,
      isShared: this.#world.isShared(storage),
      seen: this.#seen(),
      outcome: 'pending',
      version: undefined,
      sentLate: false,
      merged: undefined,
      answer: undefined,
    }
    writes.set(value, write)
    const { isWithin, count } = handlers
    this.#view.set(value).subscribe({
      next: ({ outcome, version, sentLate, value: written }) => {
        write.outcome = outcome
        write.version = String(version)
        write.sentLate = sentLate
        if (outcome === 'applied' && written === value) write.merged = undefined
        this.#world.handled(this)
      },
      error: error => {
        write.outcome = this.#checkError(error)
        this.#world.handled(this)
      },
    })
    // The effects of a handler are emitted after the current state, and handlers cause more effects.
    if (isWithin || handlers.count > count) return
    if (offline && policy === 'drop' && write.outcome === 'pending')
      this.#complain(`${value} waits, though it was to be dropped`)
    if (write.outcome === 'pending' && this.isSubscribed && this.oracle.shown?.value !== value)
      this.#complain(`${value} is not shown synchronously`)
  }

  close(): void {
    this.isClosed = true
    this.leave()
    void this.store.close()
  }

  #seen(): string | undefined {
    // Within a handler, other subscribers may have newer states. All of these states match the view.
    const latest = this.#world.handlers.isWithin ? this.#view.state : this.oracle.shown
    const shown = this.isSubscribed ? latest : undefined
    if (shown?.state !== 'confirmed' && shown?.state !== 'refused') return undefined
    if (shown.freshness.state === 'connecting') return undefined
    return shown.confirmed === undefined ? 'absent' : String(shown.version)
  }

  #onState(state: OptimisticState<string>): void {
    const complaint = this.oracle.judge(state)
    if (complaint !== undefined) this.#complain(complaint)
  }

  #merge(mine: string, theirs: string | undefined): string {
    const { writes } = this.#world
    const write = writes.get(mine)
    const value = `${mine}+${writes.size}`
    if (write === undefined) this.#complain(`merges ${mine}, which was never written`)
    else {
      write.merged = { value, theirs }
      writes.set(value, { ...write, value, outcome: 'part' })
    }
    return value
  }

  #ask({ value, age, current }: LateWrite<string>): ObservableInput<boolean> {
    const { setting, writes } = this.#world
    const { random, time } = setting
    const write = writes.get(value)
    if (write === undefined) this.#complain(`asks about ${value}, which was never written`)
    else if (age > this.#plan.maxAge) this.#complain(`asks about ${value}, which is ${age} ms old`)
    if (current !== undefined && !setting.history.all.some(change => change.value === current))
      this.#complain(`asks with ${current}, which was never written`)
    const answer = random.chance(this.#plan.approval)
    return new Observable(subscriber => {
      const task = time.after(random.int(0, 400), () => {
        if (subscriber.closed) return
        if (write) write.answer = answer
        subscriber.next(answer)
      })
      return () => task
    })
  }

  #checkError(error: unknown): string {
    const code = error instanceof StateStoreError ? error.code : String(error)
    const known: readonly string[] = EXPECTED_CODES
    if (!known.includes(code) && !(this.#world.isOdd && ODD_CODES.includes(code)))
      this.#complain(`unexpected error ${code}`)
    return code
  }

  #complain(what: string): void {
    this.#world.complain(`${this.#world.setting.time.now} ms ${this.name} ${what}`)
  }
}

const EXPECTED_CODES: readonly ErrorCode[] = [
  'timeout',
  'outcome-unknown',
  'closed',
  'conflict',
  'offline',
  'damaged',
  'connection-refused',
]
const ODD_CODES: readonly string[] = ['payload', 'hlc', 'service-unknown', 'quota-exceeded', 'syntax-error']
