import { Observable, type ObservableInput, retry, type Subscription } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import { StateStoreError } from '../../src/client/index.js'
import { type Delta, type Shadow, type ShadowState, shadow } from '../../src/client/shadow/index.js'
import type { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { EventLoop } from './event-loop.js'
import { type Document, documentOf, placeOf, type Wish } from './shadow-oracle.js'
import { FIELDS, type Field, type ShadowPlan } from './shadow-schedule.js'
import { SimSession } from './sim-session.js'

/** What clients share. */
export interface ShadowSetting {
  readonly broker: SimBroker
  readonly setting: Setting
  /** By value. */
  readonly wishes: Map<number, Wish>
  /** How often the device fails; 0 when all is calm. */
  readonly fails: () => number
  /** ms */
  readonly work: number
  readonly complain: (what: string) => void
}

const EXPECTED: readonly string[] = ['timeout', 'outcome-unknown', 'closed', 'conflict', 'offline']

/** Somebody who has wishes of a device, or the device. */
export class ShadowClient {
  readonly name: string
  readonly loop: EventLoop
  readonly session: SimSession
  readonly store: StateStore
  readonly #shadow: Shadow<Required<Document>>
  readonly #world: ShadowSetting
  readonly #running: Subscription[] = []
  /** Where what was done last was wished, field by field, and in which life of the store. */
  readonly #done = new Map<Field, { readonly life: number; readonly place: number }>()
  #isWorking = false
  shown: ShadowState<Required<Document>> | undefined

  constructor(name: string, plan: ShadowPlan, world: ShadowSetting) {
    const { setting, broker } = world
    this.name = name
    this.#world = world
    this.loop = new EventLoop(setting.time, plan.clockOffset)
    this.session = new SimSession(broker, setting, { clientId: name, run: this.loop.run, ...plan })
    const settings = { clock: this.loop.clock(), timeout: 1_000, queueLimit: 1_000, stopDelay: 0 }
    this.store = new StateStore(this.session, settings)
    const waiting = plan.offline === undefined ? {} : { offline: plan.offline, maxAge: 60_000 }
    this.#shadow = shadow<Required<Document>>(this.store, 'pump', undefined, waiting)
    this.#running.push(this.#shadow.state$.subscribe(state => this.#see(state)))
  }

  get isIdle(): boolean {
    return !this.#isWorking
  }

  /** Is the device from now on. */
  follow(): void {
    const { setting } = this.#world
    const pause = (): Observable<number> =>
      new Observable(subscriber => setting.time.clock().schedule(100, () => this.loop.run(() => subscriber.next(0))))
    const following$ = this.#shadow.follow(delta => this.#apply(delta)).pipe(retry({ delay: pause }))
    this.#running.push(following$.subscribe({ error: error => this.#expect(error) }))
  }

  /** Reports something that nobody wished. */
  measure(measured: number): void {
    this.#shadow.report({ measured }).subscribe({ error: error => this.#expect(error) })
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
        if (outcome !== 'applied') return
        const places = setting.history.placesOf('pump/desired', String(version))
        const isKept = places.some(place => {
          const document = documentOf(setting.history.all[place]?.value)
          return fields.every(field => document[field] === patch[field])
        })
        if (!isKept) this.#complain(`was told that ${JSON.stringify(patch)} was written at ${version}, and it was not`)
      },
      error: error => this.#expect(error),
    })
  }

  close(): void {
    for (const one of this.#running) one.unsubscribe()
    this.#isWorking = false
    void this.store.close()
  }

  #see(state: ShadowState<Required<Document>>): void {
    this.shown = state
    for (const field of FIELDS) {
      const value = state.desired?.[field]
      if (value !== undefined && this.#world.wishes.get(value)?.field !== field)
        this.#complain(`shows ${field} ${value}, which nobody wished`)
    }
  }

  /** Does what is wished; takes its time, and may fail. */
  #apply({ delta }: Delta<Required<Document>>): ObservableInput<Document> {
    const { setting, fails, work } = this.#world
    if (this.#isWorking) this.#complain('does two things at a time')
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

  /** Whether it knows on this connection that it has reported that. */
  #hasReported(field: Field, value: number): boolean {
    const { shown } = this
    if (shown?.report.freshness.state !== 'live' || shown.wish.freshness.state !== 'live') return false
    return shown.report.confirmed?.[field] === value
  }

  #begin(field: Field, value: number | undefined): void {
    const { history } = this.#world.setting
    if (value === undefined) return
    if (this.#hasReported(field, value)) this.#complain(`does ${field} ${value} again, which it has reported`)
    const place = placeOf({ field, value }, history)
    const before = this.#done.get(field)
    if (before?.life === history.life && place >= 0 && place < before.place)
      this.#complain(`does ${field} ${value} after something newer`)
    this.#done.set(field, { life: history.life, place })
  }

  #expect(error: unknown): void {
    if (error instanceof StateStoreError && EXPECTED.includes(error.code)) return
    this.#complain(`unexpected ${String(error)}`)
  }

  #complain(what: string): void {
    this.#world.complain(`${this.#world.setting.time.now} ms ${this.name} ${what}`)
  }
}
