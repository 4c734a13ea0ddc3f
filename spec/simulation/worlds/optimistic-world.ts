import { judgeWrites, KEY, type UserWrite } from './optimistic-oracle.js'
import { type WriterHost, WriterPage } from './optimistic-page.js'
import {
  OPTIMISTIC_FAULTY_MS,
  type OptimisticSchedule,
  type WriterAction,
  type WriterPlan,
} from './optimistic-schedule.js'
import { SimStorage } from './optimistic-storage.js'
import { PageWorld } from './page-world.js'
import { storedEntry } from './recorded-engine.js'

/** The number of operations after which a storage has stored a write. */
const STORAGE_OPERATIONS = 4

/** A store, and pages that write one key. */
export class OptimisticWorld extends PageWorld<WriterAction, OptimisticSchedule, WriterPage> implements WriterHost {
  readonly writes = new Map<string, UserWrite>()
  protected readonly faultyMs = OPTIMISTIC_FAULTY_MS
  readonly #storages: readonly SimStorage[]
  #otherWrites = 0
  hasFaults = true

  constructor(schedule: OptimisticSchedule) {
    super(schedule)
    const { time, random } = this.setting
    this.#storages = schedule.clients.map(() => new SimStorage(time, random, schedule.storage))
    for (const i of schedule.clients.keys()) this.open(i)
  }

  isShared(storage: number | undefined): boolean {
    const { storage: plan, clients } = this.schedule
    return (
      storage !== undefined && (plan.failureRate > 0 || clients.filter(plan => plan.storage === storage).length > 1)
    )
  }

  protected override endFaults(): void {
    this.hasFaults = false
    this.endHandlers()
    super.endFaults()
    for (const storage of this.#storages) storage.isReliable = true
  }

  protected override judge(): void {
    for (const page of this.clients) if (page) this.#judgeConvergence(page)
    for (const violation of judgeWrites(this.writes.values(), this.setting.history)) this.complain(violation)
    if (this.schedule.reentrancy) this.judgeTeardown()
  }

  protected override create(i: number, plan: WriterPlan): WriterPage {
    const storage = plan.storage === undefined ? undefined : this.#storages[plan.storage]
    return new WriterPage(`client${i}`, plan, storage, this)
  }

  protected override performAt(page: WriterPage, action: WriterAction): void {
    page.loop.run(() => {
      const error = (): void => undefined
      if (action.type === 'set') for (let i = 0; i < action.times; i++) page.set()
      else if (action.type === 'blink') this.#blink(page, action.pause)
      else if (action.type === 'delete') page.key.delete().subscribe({ error })
      else {
        const options = action.type === 'expiring' ? { expiresIn: 200 } : {}
        page.key.set(`o${++this.#otherWrites}`, options).subscribe({ error })
      }
    })
  }

  /** Unsubscribes a page, and subscribes it again after a pause. */
  #blink(page: WriterPage, pause: number): void {
    page.unsubscribe()
    if (pause === 0) page.subscribe()
    else this.setting.time.after(pause, () => page.loop.run(() => page.subscribe()))
  }

  /** Performs the reentrant actions of a handler. */
  handle(page: WriterPage): void {
    this.handlers.handle(
      ...page.subscriberActions(),
      () => page.set(),
      () => page.set(),
      () => page.key.delete().subscribe({ error: () => undefined }),
      () => this.reload(page, 50),
    )
  }

  protected override reload(page: WriterPage, pause: number): void {
    if (!page.isClosed) this.#judgeKept(page)
    super.reload(page, pause)
    // A storage that was too slow still has the previous content.
    const since = this.setting.time.now - STORAGE_OPERATIONS * this.schedule.storage.maxDelayMs
    for (const write of this.writes.values())
      if (write.by === page.name && write.at > since) write.isShared ||= write.isKept
  }

  /** Checks that the storage of a closed page has the last write, unless the next page opens earlier. */
  #judgeKept(page: WriterPage): void {
    const write = page.writeToKeep()
    const i = this.clients.indexOf(page)
    const storage = this.#storages[this.schedule.clients[i]?.storage ?? -1]
    if (write === undefined || storage === undefined) return
    const count = this.everyone.length
    this.setting.time.after(2 * STORAGE_OPERATIONS * this.schedule.storage.maxDelayMs, () => {
      const isFirst = this.everyone.length === count && this.clients[i] === undefined
      if (isFirst && storage.value !== write.value)
        this.complain(`${page.name} was closed, and its storage has ${storage.value} instead of ${write.value}`)
    })
  }

  #judgeConvergence({ name, oracle }: WriterPage): void {
    const { shown } = oracle
    const stored = storedEntry(this.broker.engine, KEY)
    if (shown?.state !== 'confirmed' && shown?.state !== 'refused')
      this.complain(`${name} is ${shown?.state} at the end`)
    if (shown?.value !== stored.value || (stored.version && String(shown?.version) !== String(stored.version)))
      this.complain(`${name} did not converge: shows ${shown?.value}, is ${stored.value}`)
  }
}
