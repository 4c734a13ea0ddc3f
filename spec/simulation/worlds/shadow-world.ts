import { bytes } from '../../../src/client/keys/codec.js'
import { isSame } from '../../../src/client/shadow/fields.js'
import { PageWorld } from './page-world.js'
import { storedEntry } from './recorded-engine.js'
import { FAULTY_MS } from './schedule.js'
import { ShadowClient, type ShadowHost } from './shadow-client.js'
import { DESIRED, type Document, documentOf, judgeDocument, REPORTED, type Wish } from './shadow-oracle.js'
import { type DocumentAction, FIELDS, type ShadowPlan, type ShadowSchedule } from './shadow-schedule.js'

/** A store, a device and its applications. */
export class ShadowWorld extends PageWorld<DocumentAction, ShadowSchedule, ShadowClient> implements ShadowHost {
  readonly wishes = new Map<number, Wish>()
  readonly maxWorkMs: number
  failureRate: number
  protected readonly faultyMs = FAULTY_MS

  constructor(schedule: ShadowSchedule) {
    super(schedule)
    this.failureRate = schedule.fails
    this.maxWorkMs = schedule.work
    for (const i of schedule.clients.keys()) this.open(i)
  }

  protected override endFaults(): void {
    super.endFaults()
    this.failureRate = 0
    this.endHandlers()
  }

  protected override judge(): void {
    for (const key of [DESIRED, REPORTED])
      for (const violation of judgeDocument(key, this.setting.history, this.wishes)) this.complain(violation)
    const [desired, reported] = [this.#stored(DESIRED), this.#stored(REPORTED)]
    for (const client of this.clients) if (client) this.#judgeConvergence(client, desired, reported)
    if (this.schedule.reentrancy) this.judgeTeardown()
  }

  protected override create(i: number, plan: ShadowPlan): ShadowClient {
    return new ShadowClient(i === 0 ? 'device' : `client${i}`, plan, this)
  }

  protected override performAt(client: ShadowClient, action: DocumentAction): void {
    if (action.type === 'measure') this.#measure(action)
    else
      client.loop.run(() => {
        if (action.type === 'wish') for (let i = 0; i < action.times; i++) client.wish(action.fields)
        else {
          const key = client.store.key(action.of === 'desired' ? DESIRED : REPORTED, bytes)
          key.delete().subscribe({ error: () => undefined })
        }
      })
  }

  #measure({ client, times, every }: Extract<DocumentAction, { type: 'measure' }>): void {
    for (let n = 0; n < times; n++)
      this.setting.time.after(n * every, () => {
        const device = this.clients[client]
        device?.loop.run(() => device.measure(n))
      })
  }

  /** Performs the reentrant actions of a handler. */
  handle(client: ShadowClient): void {
    const i = this.clients.indexOf(client)
    if (i < 0) return
    const field = FIELDS[this.setting.time.now % FIELDS.length] ?? 'a'
    const own: readonly [() => void, ...(() => void)[]] =
      i === 0
        ? [() => client.follow(), () => client.unfollow(), () => client.measure(this.setting.time.now)]
        : [() => client.wish([field]), () => client.wish([field]), () => client.wish(FIELDS)]
    this.handlers.handle(...own, ...client.subscriberActions(), () => this.reload(client, 50))
  }

  #stored(key: string): Document {
    return documentOf(storedEntry(this.broker.engine, key).value)
  }

  /** Checks that all clients show the stored documents and that the device matches its desired state. */
  #judgeConvergence({ name, shown, isIdle }: ShadowClient, desired: Document, reported: Document): void {
    if (!isIdle) this.complain(`${name} is still busy at the end`)
    if (!isSame(shown?.desired ?? {}, desired)) this.complain(`${name} did not converge on the desired state`)
    if (!isSame(shown?.reported ?? {}, reported)) this.complain(`${name} did not converge on the reported state`)
    for (const field of FIELDS)
      if (desired[field] !== undefined && desired[field] !== reported[field])
        this.complain(`${field} is ${reported[field]} at the end instead of ${desired[field]}`)
  }
}
