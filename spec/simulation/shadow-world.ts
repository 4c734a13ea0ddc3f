import { bytes } from '../../src/client/keys/codec.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { isSame } from '../../src/client/shadow/fields.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { History } from './history.js'
import { FAULTLESS } from './network.js'
import { Random } from './random.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import { ShadowClient, type ShadowSetting } from './shadow-client.js'
import { DESIRED, type Document, documentOf, judgeDocument, REPORTED, type Wish } from './shadow-oracle.js'
import { FIELDS, SHADOW_FAULTY_MS, type ShadowAction, type ShadowSchedule } from './shadow-schedule.js'
import { seeded } from './simulate.js'
import { VirtualTime } from './virtual-time.js'

/** Outlasts pending requests, repeated reads, and a device that fails temporarily. */
const SETTLE_MS = 75_000
const TEARDOWN_MS = 60_000

/** A store, a device, its applications and a network on virtual time. */
class ShadowWorld {
  readonly #schedule: ShadowSchedule
  readonly #setting: Setting
  readonly #shared: ShadowSetting
  readonly #wishes = new Map<number, Wish>()
  readonly #clients: (ShadowClient | undefined)[] = []
  readonly #everyone: ShadowClient[] = []
  readonly #violations: string[] = []
  readonly #handlers: ReentrantHandlers
  #fails: number

  constructor(schedule: ShadowSchedule) {
    this.#schedule = schedule
    this.#handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    this.#fails = schedule.fails
    const [time, random] = [new VirtualTime(), new Random(schedule.seed ^ 0x5eed)]
    const history = new History(() => time.now)
    const conditions = { ...schedule.conditions }
    this.#setting = { kind: schedule.kind, time, random, conditions, history }
    this.#shared = {
      broker: new SimBroker(this.#setting),
      setting: this.#setting,
      wishes: this.#wishes,
      fails: () => this.#fails,
      work: schedule.work,
      complain: what => void this.#violations.push(what),
      handled: client => this.#handled(client),
    }
    for (const i of schedule.clients.keys()) this.#open(i)
  }

  run(): { readonly violations: readonly string[] } {
    const { time, conditions, history } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#do(action))
    time.runUntil(SHADOW_FAULTY_MS)
    Object.assign(conditions, FAULTLESS)
    this.#fails = 0
    this.#handlers.stop()
    // Subscribers that unsubscribed in a handler subscribe again.
    for (const client of this.#clients) if (client) client.loop.run(() => this.#resubscribe(client))
    time.runUntil(SHADOW_FAULTY_MS + SETTLE_MS)
    for (const key of [DESIRED, REPORTED]) this.#violations.push(...judgeDocument(key, history, this.#wishes))
    const [desired, reported] = [this.#stored(DESIRED), this.#stored(REPORTED)]
    for (const client of this.#clients) if (client) this.#judgeEnd(client, desired, reported)
    if (this.#schedule.reentrancy) this.#judgeLeftovers()
    for (const client of this.#clients) client?.close()
    return { violations: this.#violations }
  }

  #open(i: number): void {
    const plan = this.#schedule.clients[i]
    if (plan === undefined) return
    const client = new ShadowClient(i === 0 ? 'device' : `client${i}`, plan, this.#shared)
    this.#clients[i] = client
    this.#everyone.push(client)
    if (i === 0) client.follow()
  }

  #do(action: ShadowAction): void {
    if (action.type === 'restart') {
      this.#shared.broker.restart(action)
      return
    }
    const client = this.#clients[action.client]
    if (client === undefined) return
    if (action.type === 'cut') client.session.cut()
    else if (action.type === 'freeze') client.loop.freeze(action.time, action.first)
    else if (action.type === 'reload') this.#reload(action.client, client, action.pause)
    else if (action.type === 'measure') this.#measure(action)
    else client.loop.run(() => this.#act(client, action))
  }

  #act(client: ShadowClient, action: Extract<ShadowAction, { type: 'wish' | 'delete' }>): void {
    if (action.type === 'wish') for (let i = 0; i < action.times; i++) client.wish(action.fields)
    else
      client.store
        .key(action.of === 'desired' ? DESIRED : REPORTED, bytes)
        .delete()
        .subscribe({ error: () => undefined })
  }

  #resubscribe(client: ShadowClient): void {
    if (client.isClosed) return
    client.subscribe()
    if (client === this.#clients[0]) client.follow()
  }

  #handled(client: ShadowClient): void {
    const i = this.#clients.indexOf(client)
    if (i < 0) return
    const field = FIELDS[this.#setting.time.now % FIELDS.length] ?? 'a'
    const own: readonly [() => void, () => void, () => void] =
      i === 0
        ? [() => client.follow(), () => client.unfollow(), () => client.measure(this.#setting.time.now)]
        : [() => client.wish([field]), () => client.wish([field]), () => client.wish(FIELDS)]
    this.#handlers.handle(
      ...own,
      () => client.unsubscribe(),
      () => client.subscribe(),
      () => {
        client.unsubscribe()
        client.subscribe()
      },
      () => client.subscribeAgain(true),
      () => client.subscribeAgain(false),
      () => client.unsubscribeExtra(),
      () => this.#reloadInHandler(i, client),
    )
  }

  #reloadInHandler(i: number, client: ShadowClient): void {
    if (this.#clients[i] === client && !client.isClosed) this.#reload(i, client, 50)
  }

  #judgeLeftovers(): void {
    const { time } = this.#setting
    const { complain, broker } = this.#shared
    for (const client of this.#clients) client?.leave()
    // A one-time subscriber that is the only subscriber must not leave anything behind either.
    for (const client of this.#clients) client?.subscribeAgain(true)
    time.runUntil(time.now + TEARDOWN_MS)
    for (const { name, store, loop, isClosed } of this.#everyone) {
      const { size } = store[HOST].registry
      if (size > 0) complain(`${name} still has ${size} watches`)
      if (loop.timers > 0) complain(`${name} still has ${loop.timers} timers`)
      const registered = broker.watchesOf(name)
      if (!isClosed && registered > 0) complain(`${name} still has ${registered} registrations`)
    }
  }

  #measure({ client, times, every }: Extract<ShadowAction, { type: 'measure' }>): void {
    for (let n = 0; n < times; n++)
      this.#setting.time.after(n * every, () => {
        const device = this.#clients[client]
        device?.loop.run(() => device.measure(n))
      })
  }

  #reload(i: number, client: ShadowClient, pause: number): void {
    client.close()
    this.#clients[i] = undefined
    this.#setting.time.after(pause, () => this.#open(i))
  }

  #stored(key: string): Document {
    const record = this.#shared.broker.engine.peek(new TextEncoder().encode(key))
    return documentOf(record && new TextDecoder().decode(record.value))
  }

  /** Checks that all clients show the stored documents and that the device matches its desired state. */
  #judgeEnd({ name, shown, isIdle }: ShadowClient, desired: Document, reported: Document): void {
    const { complain } = this.#shared
    if (!isIdle) complain(`${name} is still busy at the end`)
    if (!isSame(shown?.desired ?? {}, desired)) complain(`${name} did not converge on the desired state`)
    if (!isSame(shown?.reported ?? {}, reported)) complain(`${name} did not converge on the reported state`)
    for (const field of FIELDS)
      if (desired[field] !== undefined && desired[field] !== reported[field])
        complain(`${field} is ${reported[field]} at the end instead of ${desired[field]}`)
  }
}

export const simulateShadows = (schedule: ShadowSchedule): { readonly violations: readonly string[] } =>
  seeded(schedule.seed, () => new ShadowWorld(schedule).run())
