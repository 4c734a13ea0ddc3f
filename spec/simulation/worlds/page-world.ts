import { type Observable, Subscription, take } from 'rxjs'
import type { ErrorCode } from '../../../src/client/index.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import type { ReentrantHandlers } from './reentrant-handlers.js'
import { type ClientPlan, isWorldAction, type PageAction, type StoreSchedule, type TimedAction } from './schedule.js'
import { SimClient } from './sim-client.js'
import { SimSession } from './sim-session.js'
import { StoreWorld } from './store-world.js'

const TEARDOWN_MS = 60_000
/** Errors of pages, in addition to those of all clients. */
const PAGE_CODES: readonly ErrorCode[] = ['conflict', 'offline', 'damaged']

/** The part of a world that a page uses. */
export interface PageHost {
  readonly broker: SimBroker
  readonly setting: Setting
  readonly handlers: ReentrantHandlers
  complain(what: string): void
  expectError(error: unknown, others: readonly string[]): string
  /** Called at the end of each handler of a page. */
  handle(page: SimPage<unknown>): void
}

/** A page or process that shows a view, and that may be closed and opened again. */
export abstract class SimPage<T> extends SimClient {
  isClosed = false
  readonly #host: PageHost
  readonly #others = new Set<Subscription>()
  #subscription: Subscription | undefined

  constructor(name: string, plan: ClientPlan, host: PageHost) {
    super(name, plan, host.setting.time, options => new SimSession(host.broker, host.setting, options))
    this.#host = host
  }

  protected abstract readonly state$: Observable<T>
  /** Called when the page subscribes, and when its subscriber receives a state. */
  protected abstract onSubscribe(): void
  protected abstract onState(state: T): void

  get isSubscribed(): boolean {
    return this.#subscription !== undefined
  }

  subscribe(): void {
    if (this.#subscription) return
    this.onSubscribe()
    const subscription = new Subscription()
    this.#subscription = subscription
    const states = this.state$.subscribe({
      next: state => {
        if (this.#subscription === subscription) this.onState(state)
        this.handled()
      },
      error: error => {
        this.expectError(error)
        this.handled()
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
    const other = new Subscription()
    this.#others.add(other)
    other.add(() => this.#others.delete(other))
    const states$ = this.state$.pipe(take(isOnce ? 1 : Number.POSITIVE_INFINITY))
    const end = (): void => other.unsubscribe()
    other.add(states$.subscribe({ next: () => this.handled(), error: end, complete: end }))
  }

  unsubscribeOthers(): void {
    for (const other of Array.from(this.#others)) other.unsubscribe()
  }

  /** Returns what a subscriber may do in a handler. */
  subscriberActions(): readonly [() => void, ...(() => void)[]] {
    return [
      () => this.unsubscribe(),
      () => this.subscribe(),
      () => {
        this.unsubscribe()
        this.subscribe()
      },
      () => this.subscribeAgain(true),
      () => this.subscribeAgain(false),
      () => this.unsubscribeOthers(),
    ]
  }

  /** Starts everything that the page does, again if its handlers have ended it. */
  start(): void {
    this.subscribe()
  }

  /** Ends everything that the page does. */
  leave(): void {
    this.unsubscribe()
    this.unsubscribeOthers()
  }

  close(): void {
    this.isClosed = true
    this.leave()
    void this.store.close()
  }

  protected handled(): void {
    this.#host.handle(this)
  }

  protected expectError(error: unknown): string {
    return this.#host.expectError(error, PAGE_CODES)
  }

  protected complain(what: string): void {
    this.#host.complain(`${this.name} ${what}`)
  }
}

/** A store, and pages that show views of it. */
export abstract class PageWorld<
  A extends TimedAction & { readonly client: number },
  S extends StoreSchedule<A | PageAction>,
  P extends SimPage<unknown>,
> extends StoreWorld<A | PageAction, S, P> {
  readonly broker = new SimBroker(this.setting)
  /** Outlasts pending requests, repeated reads, timeouts, and devices that fail temporarily. */
  protected readonly settleMs = 75_000

  protected abstract performAt(page: P, action: A): void

  protected override open(i: number): P | undefined {
    const page = super.open(i)
    page?.start()
    return page
  }

  protected override perform(action: A | PageAction): void {
    if (isPageAction(action)) this.#performPageAction(action)
    else {
      const page = this.clients[action.client]
      if (page) this.performAt(page, action)
    }
  }

  #performPageAction(action: PageAction): void {
    if (action.type === 'restart') {
      this.broker.restart(action)
      return
    }
    const page = this.clients[action.client]
    if (action.type === 'cut') page?.session.cut()
    else if (isWorldAction(action)) this.performWorld(page, action)
    else if (action.type === 'freeze') page?.loop.freeze(action.time, action.first)
    else if (page) this.reload(page, action.pause)
  }

  /** Closes a page, and opens another one after a pause. */
  protected reload(page: P, pause: number): void {
    const i = this.clients.indexOf(page)
    if (i < 0 || page.isClosed) return
    page.close()
    this.clients[i] = undefined
    this.setting.time.after(pause, () => this.open(i))
  }

  /** Ends the reentrant actions of handlers, and starts again what these have ended. */
  protected endHandlers(): void {
    this.handlers.stop()
    for (const page of this.clients) if (page && !page.isClosed) page.loop.run(() => page.start())
  }

  /** Checks that nothing is left when all subscribers have left. */
  protected judgeTeardown(): void {
    for (const page of this.clients) page?.leave()
    // A one-time subscriber that is the only subscriber must not leave anything behind either.
    for (const page of this.clients) page?.subscribeAgain(true)
    this.runFor(TEARDOWN_MS)
    for (const page of this.everyone) {
      this.judgeLeftovers(page)
      const registered = this.broker.watchesOf(page.name)
      if (!page.isClosed && registered > 0 && !this.hasOddReplies)
        this.complain(`${page.name} still has ${registered} registrations`)
    }
  }
}

const PAGE_ACTIONS = ['reload', 'cut', 'freeze', 'hide', 'step', 'away', 'restart']
const isPageAction = (action: TimedAction): action is PageAction => PAGE_ACTIONS.includes(action.type)
