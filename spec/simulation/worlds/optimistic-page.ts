import { Observable, type ObservableInput } from 'rxjs'
import { text } from '../../../src/client/index.js'
import {
  type LateWrite,
  type Optimistic,
  type OptimisticState,
  optimistic,
} from '../../../src/client/optimistic/index.js'
import { KEY, PageOracle, type UserWrite } from './optimistic-oracle.js'
import type { WriterPlan } from './optimistic-schedule.js'
import type { SimStorage } from './optimistic-storage.js'
import { type PageHost, SimPage } from './page-world.js'
import { TIMEOUT_MS } from './sim-client.js'

export interface WriterHost extends PageHost {
  /** The writes by value, including the writes that a merge made. */
  readonly writes: Map<string, UserWrite>
  /** Returns whether other pages may send the writes in a storage, or the storage may fail. */
  isShared(storage: number | undefined): boolean
  /** Whether faults still occur. After them, all pages subscribe. */
  readonly hasFaults: boolean
}

/** A page whose user writes one key. */
export class WriterPage extends SimPage<OptimisticState<string>> {
  readonly oracle: PageOracle
  readonly key = this.store.key(KEY, text)
  protected readonly state$: Observable<OptimisticState<string>>
  readonly #world: WriterHost
  readonly #plan: WriterPlan
  readonly #view: Optimistic<string>
  #isConnected = false
  /** The last write, while the page has had no connection since. */
  #offlineWrite: UserWrite | undefined

  constructor(name: string, plan: WriterPlan, storage: SimStorage | undefined, world: WriterHost) {
    super(name, plan, world)
    this.#world = world
    this.#plan = plan
    this.store.status$.subscribe(({ state }) => {
      this.#isConnected = state === 'connected'
      if (this.#isConnected) this.#offlineWrite = undefined
    })
    this.oracle = new PageOracle(world.setting.history, world.writes)
    const { offline, maxAge, conflict } = plan
    this.#view = optimistic(this.key, {
      conflict: conflict === 'merge' ? (mine, theirs) => this.#merge(mine, theirs) : conflict,
      offline,
      ...(canWait(plan) ? { maxAge, storage: storage?.port() } : {}),
      ...(offline === 'ask' ? { ask: late => this.#ask(late) } : {}),
    })
    this.state$ = this.#view.state$
    this.onEvents(() => this.handled())
  }

  override start(): void {
    if (!this.#plan.isUnwatched || !this.#world.hasFaults) super.start()
  }

  /** Returns the write that the storage must have once the page is closed. */
  writeToKeep(): UserWrite | undefined {
    const write = this.#offlineWrite
    const { time } = this.#world.setting
    const isKept = write?.isKept && write.outcome === 'pending' && time.now - write.at < write.limit
    // A write may be too old by a clock that was set.
    return isKept && !this.loop.clockWasSet && !this.#world.isShared(this.#plan.storage) ? write : undefined
  }

  protected override onSubscribe(): void {
    this.oracle.begin()
  }

  protected override onState(state: OptimisticState<string>): void {
    const complaint = this.oracle.judge(state)
    if (complaint !== undefined) this.complain(complaint)
  }

  set(): void {
    const { setting, writes, handlers } = this.#world
    const { offline: policy, conflict, maxAge, storage } = this.#plan
    const value = `v${writes.size}`
    const offline = !this.#isConnected
    const write: UserWrite = {
      value,
      by: this.name,
      at: setting.time.now,
      limit: canWait(this.#plan) ? (offline ? maxAge : Math.max(maxAge, TIMEOUT_MS)) : TIMEOUT_MS,
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
    this.#offlineWrite = offline && canWait(this.#plan) ? write : undefined
    const { isWithin, count } = handlers
    this.#view.set(value).subscribe({
      next: ({ outcome, version, sentLate, value: written }) => {
        write.outcome = outcome
        write.version = String(version)
        write.sentLate = sentLate
        if (outcome === 'applied' && written === value) write.merged = undefined
        this.handled()
      },
      error: error => {
        write.outcome = this.expectError(error)
        this.handled()
      },
    })
    // A handler's effects are emitted after the current state, and handlers cause more effects.
    if (isWithin || handlers.count > count) return
    if (offline && policy === 'drop' && write.outcome === 'pending')
      this.complain(`${value} waits, though it was to be dropped`)
    if (write.outcome === 'pending' && this.isSubscribed && this.oracle.shown?.value !== value)
      this.complain(`${value} is not shown synchronously`)
  }

  #seen(): string | undefined {
    // Within a handler, other subscribers may have newer states. All of these states match the view.
    const latest = this.#world.handlers.isWithin ? this.#view.state : this.oracle.shown
    const shown = this.isSubscribed ? latest : undefined
    if (shown?.state !== 'confirmed' && shown?.state !== 'refused') return undefined
    if (shown.freshness.state === 'connecting') return undefined
    return shown.confirmed === undefined ? 'absent' : String(shown.version)
  }

  #merge(mine: string, theirs: string | undefined): string {
    const { writes } = this.#world
    const write = writes.get(mine)
    const value = `${mine}+${writes.size}`
    if (write === undefined) this.complain(`merges ${mine}, which was never written`)
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
    if (write === undefined) this.complain(`asks about ${value}, which was never written`)
    else if (age > this.#plan.maxAge) this.complain(`asks about ${value}, which is ${age} ms old`)
    if (current !== undefined && !setting.history.all.some(change => change.value === current))
      this.complain(`asks with ${current}, which was never written`)
    const answer = random.chance(this.#plan.approval)
    return new Observable(subscriber => {
      time.after(random.int(0, 400), () => {
        if (subscriber.closed) return
        if (write) write.answer = answer
        subscriber.next(answer)
      })
    })
  }
}

const canWait = ({ offline }: WriterPlan): boolean => offline !== undefined && offline !== 'drop'
