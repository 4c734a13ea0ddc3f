import { StateStoreError } from 'rx-statestore'
import type { PubSubClient, SendResult } from 'rx-statestore/pubsub'
import { connectPubSub } from 'rx-statestore/pubsub'
import type { Observable, Subscription } from 'rxjs'
import { Link } from '../../harness/link.js'
import type { Random } from '../../harness/random.js'
import { now } from '../now.js'
import { GroupListeners } from './group-listeners.js'
import type { HubHost, PubSubContext } from './hub-host.js'

/** A client's settings in ms, which are short enough to detect a stalled link during a run. */
const SETTINGS = { recoveryWindow: 5_000, keepAlive: 1_500, connectTimeout: 1_500, timeout: 10_000 }
const RECONNECT = { initial: 20, max: 300 }
const BURST = 150

let messageCount = 0

/** A client behind a faulty link that listens to groups and sends to them. */
export class Member {
  #context
  #hub
  #random
  #index
  #incarnation = 0
  #author = 0
  #client: PubSubClient | undefined
  #listeners: GroupListeners | undefined
  #port = 0
  link
  /** The number of sends without an outcome. */
  pending = 0

  constructor(context: PubSubContext, hub: HubHost, index: number, random: Random) {
    this.#context = context
    this.#hub = hub
    this.#index = index
    this.#random = random
    this.link = new Link(hub.port, random.fork())
  }

  get name() {
    return `c${this.#index}.${this.#incarnation}`
  }

  get isQuiet() {
    return this.pending === 0 && this.#listeners?.isSettled === true
  }

  async start() {
    this.#port = await this.link.listen()
    this.#begin()
  }

  async replaceClient() {
    await this.#client?.close()
    this.#listeners?.end(false)
    this.#context.members.delete(this.name)
    this.#incarnation++
    this.#begin()
  }

  async stop() {
    this.#listeners?.end(true)
    await this.#client?.close()
    await this.link.close()
  }

  recordMembership = (type: 'joined' | 'left', connectionId: string, group: number) =>
    this.#listeners?.recordMembership(type, connectionId, group)

  /** Starts or stops listening to a random group. */
  toggleGroup() {
    this.#listeners?.toggle(this.#random.int(0, this.#context.groups - 1))
  }

  send() {
    const dice = this.#random.int(1, 100)
    if (dice <= 10) this.#sendEvent()
    else if (dice <= 12) for (let i = 0; i < BURST; i++) this.#sendMessage(this.#random.int(0, 40))
    else this.#sendMessage(this.#random.chance(0.02) ? 100_000 : this.#random.int(0, 1_500))
  }

  #begin() {
    const protocol = this.#index % 2 === 0 ? 'json' : 'protobuf'
    const url = () => `ws://127.0.0.1:${this.#port}/client/hubs/chaos?user=${this.name}`
    this.#author = 1_000_000 * this.#index + this.#incarnation
    this.#context.members.set(this.name, this)
    const client = connectPubSub(url, { ...SETTINGS, protocol, reconnect: RECONNECT })
    this.#client = client
    client.errors$.subscribe(error => {
      if (!['timeout', 'outcome-unknown'].includes(error.code)) this.#context.violations.add('reported', error)
    })
    this.#listeners = new GroupListeners(this.#context, this.#hub, this.name, client)
    for (let i = 0; i < this.#context.groups / 2; i++) this.toggleGroup()
  }

  #sendMessage(padding: number) {
    const group = this.#random.int(0, this.#context.groups - 1)
    const id = this.#recordSent(group)
    const result$ = this.#client?.group(String(group)).send({ id, pad: 'é'.repeat(padding) })
    this.#track(id, result$)
  }

  #sendEvent() {
    const id = this.#recordSent()
    this.#track(id, this.#client?.sendEvent('note', id))
  }

  /** Records a message to a group, or an event, before it is sent. Returns its number. */
  #recordSent(group?: number) {
    const id = messageCount++
    this.#context.recorder.write({ type: 'sent', id, author: this.#author, group, at: now() })
    return id
  }

  #track(id: number, result$: Observable<SendResult> | undefined) {
    this.pending++
    const subscription = result$?.subscribe({
      next: ({ duplicate }) => {
        if (duplicate) this.#context.tally.add('acknowledged copies')
        this.#recordEnded(id, 'acked')
      },
      error: error => this.#recordEnded(id, error instanceof StateStoreError ? error.code : String(error)),
    })
    subscription?.add(() => this.pending--)
    if (this.#random.chance(0.01)) setImmediate(() => this.#cancel(id, subscription))
  }

  #cancel(id: number, subscription: Subscription | undefined) {
    if (subscription === undefined || subscription.closed) return
    this.#recordEnded(id, 'cancelled')
    subscription.unsubscribe()
  }

  #recordEnded(id: number, outcome: string) {
    this.#context.tally.add(`sends: ${outcome}`)
    this.#context.recorder.write({ type: 'ended', id, outcome, at: now() })
  }
}
