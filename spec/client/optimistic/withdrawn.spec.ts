import type { Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../harness/random.js'
import { StateStore } from '../../../src/client/connect/client.js'
import { ConnectionLostError, text } from '../../../src/client/index.js'
import { type OptimisticOptions, optimistic } from '../../../src/client/optimistic/index.js'
import { encodeNotification } from '../../../src/core/protocol/notifications.js'
import { notificationPrefix } from '../../../src/core/protocol/topics.js'
import { toHex, utf8 } from '../../../src/core/util/bytes.js'
import { effort, SEED } from '../../support/effort.js'
import { FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { record } from '../../support/open-client.js'

const LOST = new ConnectionLostError()
const POLICIES: readonly OptimisticOptions<string>[] = [
  {},
  { conflict: 'refuse' },
  { conflict: mine => mine },
  { offline: 'drop' },
  { offline: 'latest' },
  { offline: 'cas', conflict: mine => mine },
]

/** A view of the key `k` at a store that executes the requests when the schedule says so. */
class Schedule {
  readonly #name: string
  readonly #random: Random
  readonly #clock = new ManualClock()
  readonly #session = new FakeSession()
  readonly #client = new StateStore(this.#session, {
    clock: this.#clock,
    timeout: 10_000,
    maxQueued: 100,
    stopDelay: 0,
  })
  readonly #view
  readonly #writes = new Map<string, Subscription>()
  /** The withdrawn values, and how often each had been sent by then. */
  readonly #withdrawn = new Map<string, number>()
  #stored = { value: 'a', version: 5 }
  #answered = 0
  #isConnected = false
  #isWatched = false
  #written = 0

  constructor(seed: number) {
    this.#name = `schedule ${seed}`
    this.#random = new Random(seed)
    this.#view = optimistic(this.#client.key('k', text), POLICIES[seed % POLICIES.length])
    record(this.#view.state$)
    this.#reconnect()
  }

  run(): void {
    for (let step = 0; step < 40; step++) this.#step(this.#random.next())
    if (!this.#isConnected) this.#reconnect()
    for (let round = 0; round < 30; round++) {
      this.#answerAll()
      this.#clock.advance(1_000)
    }
    const sent = Array.from(this.#withdrawn.keys(), value => [value, this.#countSent(value)])
    expect(sent, this.#name).toEqual(Array.from(this.#withdrawn))
    expect(this.#view.state.value, this.#name).toBe(this.#stored.value)
    expect(['confirmed', 'refused'], this.#name).toContain(this.#view.state.state)
  }

  #step(choice: number): void {
    if (choice < 0.3) this.#write()
    else if (choice < 0.55) this.#withdraw()
    else if (choice < 0.6) this.#store(`other${this.#stored.version}`)
    else if (choice < 0.65) record(this.#client.key('other', text).set('x'))
    else if (choice < 0.95) this.#answer()
    else if (this.#isConnected) {
      this.#isConnected = this.#isWatched = false
      this.#answered = this.#session.published.length
      this.#session.disconnect(LOST)
    } else this.#reconnect()
  }

  #write(): void {
    const value = `w${this.#written++}.`
    this.#writes.set(
      value,
      this.#view.set(value).subscribe({
        error: () => this.#writes.delete(value),
        complete: () => this.#writes.delete(value),
      }),
    )
  }

  #withdraw(): void {
    const [value, subscription] = Array.from(this.#writes).at(Math.floor(this.#random.next() * this.#writes.size)) ?? []
    if (value === undefined || subscription === undefined) return
    this.#writes.delete(value)
    subscription.unsubscribe()
    this.#withdrawn.set(value, this.#countSent(value))
  }

  #countSent(value: string): number {
    return this.#session.published.filter(({ request }) => decode(request.payload).includes(value)).length
  }

  #reconnect(): void {
    this.#isConnected = true
    this.#session.connect({ receiveMaximum: this.#random.next() < 0.7 ? 1 : 3 })
  }

  #answerAll(): void {
    while (this.#answered < this.#session.published.length) this.#answer()
  }

  #answer(): void {
    if (!this.#isConnected || this.#answered === this.#session.published.length) return
    const published = this.#session.at(this.#answered++)
    const reply = this.#execute(decode(published.request.payload))
    const { version } = this.#stored
    this.#session.reply(published, utf8(reply), { __stat: '200', __ts: `${version}:0:S` })
    published.acknowledge()
  }

  #execute(command: string): string {
    const { value, version } = this.#stored
    if (!command.includes('\r\nk\r\n')) return '+OK\r\n'
    if (command.includes('GET')) return `$${value.length}\r\n${value}\r\n`
    if (command.includes('KEYNOTIFY')) this.#isWatched = true
    if (!command.includes('SET')) return '+OK\r\n'
    if (command.includes('IFVER') && !command.includes(`${version}:0:S`)) return ':-1\r\n'
    this.#store(/w\d+\./.exec(command)?.[0] ?? '')
    return '+OK\r\n'
  }

  #store(value: string): void {
    const version = this.#stored.version + 1
    this.#stored = { value, version }
    if (!this.#isWatched) return
    const topic = `${notificationPrefix(this.#session.clientId)}${toHex(utf8('k'))}`
    const payload = encodeNotification({ op: 'set', value: utf8(value) })
    this.#session.receive(topic, payload, { __ts: `${version}:0:S` })
  }
}

const decode = (payload: Uint8Array): string => new TextDecoder().decode(payload)

describe('withdrawn writes', () => {
  it('random schedules never send a withdrawn write, and views show the stored value', () => {
    for (let seed = 0; seed < effort(1_000, 100); seed++) new Schedule(SEED * 100_000 + seed).run()
  })
})
