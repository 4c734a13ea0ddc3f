import { Observable, type ObservableInput, retry, Subject, Subscription, takeUntil } from 'rxjs'
import { type Delta, type Shadow, type ShadowState, shadow } from '../../../src/client/shadow/index.js'
import { type PageHost, SimPage } from './page-world.js'
import { type Document, documentOf, positionOf, type Wish } from './shadow-oracle.js'
import { FIELDS, type Field, type ShadowPlan } from './shadow-schedule.js'

export interface ShadowHost extends PageHost {
  readonly wishes: Map<number, Wish>
  /** The probability that the device fails to apply a delta. */
  readonly failureRate: number
  /** The maximum duration of applying a delta, in milliseconds. */
  readonly maxWorkMs: number
}

/** A device or an application with the device's shadow. */
export class ShadowClient extends SimPage<ShadowState<Required<Document>>> {
  protected readonly state$: Observable<ShadowState<Required<Document>>>
  readonly #shadow: Shadow<Required<Document>>
  readonly #world: ShadowHost
  #following: Subscription | undefined
  /** For each field, the position of the desired value that was applied last, and its store instance. */
  readonly #done = new Map<Field, { readonly instance: number; readonly position: number }>()
  #isWorking = false
  shown: ShadowState<Required<Document>> | undefined

  constructor(name: string, plan: ShadowPlan, world: ShadowHost) {
    super(name, plan, world)
    this.#world = world
    const waiting = plan.offline === undefined ? {} : { offline: plan.offline, maxAge: 60_000 }
    this.#shadow = shadow<Required<Document>>(this.store, 'pump', undefined, waiting)
    this.state$ = this.#shadow.state$
    this.onEvents(() => this.handled())
    // The world does not know the client yet, so that handlers that run at once do nothing.
    this.subscribe()
  }

  get isIdle(): boolean {
    return !this.#isWorking
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
      next: () => this.handled(),
      error: error => this.expectError(error),
    })
    following.add(done)
  }

  unfollow(): void {
    const following = this.#following
    this.#following = undefined
    following?.unsubscribe()
  }

  override start(): void {
    super.start()
    if (this.name === 'device') this.follow()
  }

  override leave(): void {
    super.leave()
    this.unfollow()
  }

  override close(): void {
    super.close()
    this.#isWorking = false
  }

  measure(measured: number): void {
    this.#shadow.report({ measured }).subscribe({
      next: () => this.handled(),
      error: error => this.expectError(error),
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
        this.handled()
        if (outcome !== 'applied') return
        const positions = setting.history.positionsOf('pump/desired', String(version))
        const isKept = positions.some(position => {
          const document = documentOf(setting.history.all[position]?.value)
          return fields.every(field => document[field] === patch[field])
        })
        if (!isKept) this.complain(`received ${version} for ${JSON.stringify(patch)}, which was not written`)
      },
      error: error => this.expectError(error),
    })
  }

  protected override onSubscribe(): void {
    this.shown = undefined
  }

  protected override onState(state: ShadowState<Required<Document>>): void {
    this.shown = state
    for (const field of FIELDS) {
      const value = state.desired?.[field]
      if (value !== undefined && this.#world.wishes.get(value)?.field !== field)
        this.complain(`shows ${field} ${value}, which was never desired`)
    }
  }

  #apply({ delta }: Delta<Required<Document>>): ObservableInput<Document> {
    const { setting, maxWorkMs } = this.#world
    if (this.#isWorking) this.complain('applies two deltas at a time')
    for (const field of FIELDS) this.#begin(field, delta[field])
    this.#isWorking = true
    return new Observable<Document>(subscriber => {
      const end = setting.time.clock().schedule(setting.random.int(0, maxWorkMs), () =>
        this.loop.run(() => {
          this.#isWorking = false
          if (setting.random.chance(this.#world.failureRate)) subscriber.error(new Error('stuck'))
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
    if (this.#hasReported(field, value)) this.complain(`applies ${field} ${value} again after reporting it`)
    const position = positionOf({ field, value }, history)
    const before = this.#done.get(field)
    if (before?.instance === history.instance && position >= 0 && position < before.position)
      this.complain(`applies ${field} ${value} after a newer value`)
    this.#done.set(field, { instance: history.instance, position })
  }
}
