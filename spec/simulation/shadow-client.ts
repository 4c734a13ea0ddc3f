import { Observable, type ObservableInput, retry, Subject, Subscription, take, takeUntil } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { StateStoreError } from '../../src/client/index.js'
import { type Delta, type Shadow, type ShadowState, shadow } from '../../src/client/shadow/index.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { EventLoop } from './event-loop.js'
import { type Document, documentOf, positionOf, type Wish } from './shadow-oracle.js'
import { FIELDS, type Field, type ShadowPlan } from './shadow-schedule.js'
import { SimSession } from './sim-session.js'

export interface ShadowSetting {
  readonly broker: SimBroker
  readonly setting: Setting
  readonly wishes: Map<number, Wish>
  readonly fails: () => number
  /** In milliseconds. */
  readonly work: number
  readonly complain: (what: string) => void
  readonly handled: (client: ShadowClient) => void
}

const EXPECTED_CODES: readonly string[] = [
  'timeout',
  'outcome-unknown',
  'closed',
  'conflict',
  'offline',
  'connection-refused',
]

export class ShadowClient {
  readonly name: string
  readonly loop: EventLoop
  readonly session: SimSession
  readonly store: StateStore
  readonly #shadow: Shadow<Required<Document>>
  readonly #world: ShadowSetting
  #subscription: Subscription | undefined
  #following: Subscription | undefined
  readonly #besides = new Set<Subscription>()
  /** For each field, the position of the desired value that was applied last, and its store instance. */
  readonly #done = new Map<Field, { readonly instance: number; readonly position: number }>()
  #isWorking = false
  isClosed = false
  shown: ShadowState<Required<Document>> | undefined

  constructor(name: string, plan: ShadowPlan, world: ShadowSetting) {
    const { setting, broker } = world
    this.name = name
    this.#world = world
    this.loop = new EventLoop(setting.time, plan.clockOffset)
    this.session = new SimSession(broker, setting, { clientId: name, run: this.loop.run, ...plan })
    const settings = { clock: this.loop.clock(), timeout: 1_000, maxQueued: 1_000, stopDelay: 0 }
    this.store = new StateStore(this.session, settings)
    const waiting = plan.offline === undefined ? {} : { offline: plan.offline, maxAge: 60_000 }
    this.#shadow = shadow<Required<Document>>(this.store, 'pump', undefined, waiting)
    this.store.status$.subscribe(() => world.handled(this))
    this.store.errors$.subscribe(() => world.handled(this))
    this.subscribe()
  }

  get isIdle(): boolean {
    return !this.#isWorking
  }

  subscribe(): void {
    if (this.#subscription) return
    const subscription = new Subscription()
    this.#subscription = subscription
    const states = this.#shadow.state$.subscribe({
      next: state => {
        if (this.#subscription === subscription) this.#onState(state)
        this.#world.handled(this)
      },
      error: error => this.#checkError(error),
    })
    subscription.add(states)
  }

  unsubscribe(): void {
    const subscription = this.#subscription
    this.#subscription = undefined
    this.shown = undefined
    subscription?.unsubscribe()
  }

  /** Adds a subscription until the first state or until unsubscribed. */
  subscribeAgain(isOnce: boolean): void {
    const beside = new Subscription()
    this.#besides.add(beside)
    beside.add(() => this.#besides.delete(beside))
    const states$ = this.#shadow.state$.pipe(take(isOnce ? 1 : Number.POSITIVE_INFINITY))
    const end = (): void => beside.unsubscribe()
    beside.add(states$.subscribe({ next: () => this.#world.handled(this), error: end, complete: end }))
  }

  unsubscribeExtra(): void {
    for (const beside of Array.from(this.#besides)) beside.unsubscribe()
  }

  follow(): void {
    if (this.#following) return
    const { setting } = this.#world
    const pause = (): Observable<number> =>
      new Observable(subscriber => setting.time.clock().schedule(100, () => this.loop.run(() => subscriber.next(0))))
    const following$ = this.#shadow.follow(delta => this.#apply(delta)).pipe(retry({ delay: pause }))
    const left$ = new Subject<void>()
    const following = new Subscription(() => left$.next())
    this.#following = following
    // A handler may unsubscribe before the subscription exists.
    const done = following$.pipe(takeUntil(left$)).subscribe({
      next: () => this.#world.handled(this),
      error: error => this.#checkError(error),
    })
    following.add(done)
  }

  unfollow(): void {
    const following = this.#following
    this.#following = undefined
    following?.unsubscribe()
  }

  leave(): void {
    this.unsubscribe()
    this.unsubscribeExtra()
    this.unfollow()
  }

  measure(measured: number): void {
    this.#shadow.report({ measured }).subscribe({
      next: () => this.#world.handled(this),
      error: error => this.#checkError(error),
    })
  }

  wish(fields: readonly Field[]): void {
    const { wishes, setting } = this.#world
    const patch: Document = {}
    for (const field of fields) {
      const value = wishes.size + 1
      wishes.set(value, { field, value })
      patch[field] = value
    }
    this.#shadow.desire(patch).subscribe({
      next: ({ outcome, version }) => {
        this.#world.handled(this)
        if (outcome !== 'applied') return
        const positions = setting.history.positionsOf('pump/desired', String(version))
        const isKept = positions.some(position => {
          const document = documentOf(setting.history.all[position]?.value)
          return fields.every(field => document[field] === patch[field])
        })
        if (!isKept) this.#complain(`received ${version} for ${JSON.stringify(patch)}, which was not written`)
      },
      error: error => this.#checkError(error),
    })
  }

  close(): void {
    this.isClosed = true
    this.leave()
    this.#isWorking = false
    void this.store.close()
  }

  #onState(state: ShadowState<Required<Document>>): void {
    this.shown = state
    for (const field of FIELDS) {
      const value = state.desired?.[field]
      if (value !== undefined && this.#world.wishes.get(value)?.field !== field)
        this.#complain(`shows ${field} ${value}, which was never desired`)
    }
  }

  #apply({ delta }: Delta<Required<Document>>): ObservableInput<Document> {
    const { setting, fails, work } = this.#world
    if (this.#isWorking) this.#complain('applies two deltas at a time')
    for (const field of FIELDS) this.#begin(field, delta[field])
    this.#isWorking = true
    return new Observable<Document>(subscriber => {
      const end = setting.time.clock().schedule(setting.random.int(0, work), () =>
        this.loop.run(() => {
          this.#isWorking = false
          if (setting.random.chance(fails())) subscriber.error(new Error('stuck'))
          else subscriber.next({ ...delta })
        }),
      )
      return () => {
        this.#isWorking = false
        end()
      }
    })
  }

  /** Returns whether the device knows on this connection that it has reported the value. */
  #hasReported(field: Field, value: number): boolean {
    // Reads the views, because subscribers of the state may be notified after `follow`.
    const [report, wish] = [this.#shadow.reported.state, this.#shadow.desired.state]
    if (report.freshness.state !== 'live' || wish.freshness.state !== 'live') return false
    return report.confirmed?.[field] === value
  }

  #begin(field: Field, value: number | undefined): void {
    const { history } = this.#world.setting
    if (value === undefined) return
    if (this.#hasReported(field, value)) this.#complain(`applies ${field} ${value} again after reporting it`)
    const position = positionOf({ field, value }, history)
    const before = this.#done.get(field)
    if (before?.instance === history.instance && position >= 0 && position < before.position)
      this.#complain(`applies ${field} ${value} after a newer value`)
    this.#done.set(field, { instance: history.instance, position })
  }

  #checkError(error: unknown): void {
    if (error instanceof StateStoreError && EXPECTED_CODES.includes(error.code)) return
    this.#complain(`unexpected ${String(error)}`)
  }

  #complain(what: string): void {
    this.#world.complain(`${this.#world.setting.time.now} ms ${this.name} ${what}`)
  }
}
