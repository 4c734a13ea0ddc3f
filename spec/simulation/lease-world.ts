import { StateStore } from '../../src/client/connect/client.js'
import { HOST } from '../../src/client/keys/store-view.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'
import { EventLoop } from './event-loop.js'
import { History } from './history.js'
import { Candidate, type LeaseClient } from './lease-candidate.js'
import { LOCK, Referee } from './lease-referee.js'
import { LEASE_FAULTY_MS, type LeaseAction, type LeaseSchedule } from './lease-schedule.js'
import { LeaseWrites } from './lease-writes.js'
import { FAULTLESS } from './network.js'
import { Random } from './random.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import { SimSession } from './sim-session.js'
import { VirtualTime } from './virtual-time.js'

export interface LeaseResult {
  readonly violations: readonly string[]
  readonly holdings: number
  readonly writes: Readonly<Record<string, number>>
}

interface Client extends LeaseClient {
  readonly session: SimSession
  readonly index: number
  isLeaving: boolean
  closed: boolean
}

const TIMEOUT_MS = 1_000
/**
 * The time in milliseconds until all clients are connected, pending requests have been answered or timed out, and
 * watches are live. A late response delays all later ones by 3,000, and a watch that failed five times waits up to
 * 3,200 before it retries. The key of a former holder expires one lease later, and a candidate that was not notified
 * requests the lease after another lease.
 */
const RECOVERY_MS = 6_500
const LOCK_KEY = new TextEncoder().encode(LOCK)

/** A store, clients that compete for one lease, and a network on virtual time. */
export class LeaseWorld {
  readonly #schedule: LeaseSchedule
  readonly #setting: Setting
  readonly #longest: number
  readonly #broker: SimBroker
  readonly #referee: Referee
  readonly #writes: LeaseWrites
  readonly #handlers: ReentrantHandlers
  /** All candidates ever created. The latest candidate of each plan acts. */
  readonly #clients: Client[] = []
  readonly #candidates: Candidate[] = []
  readonly #violations: string[] = []

  constructor(schedule: LeaseSchedule) {
    this.#schedule = schedule
    this.#handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    const [time, history] = [new VirtualTime(), new History()]
    this.#longest = Math.max(...schedule.candidates.map(({ duration }) => duration))
    this.#setting = {
      kind: schedule.kind,
      silentExpiry: schedule.silentExpiry,
      time,
      random: new Random(schedule.seed ^ 0x5eed),
      conditions: { ...schedule.conditions },
      history,
    }
    this.#broker = new SimBroker(this.#setting)
    this.#referee = new Referee({ time, history, longest: this.#longest, complain: this.#complain })
    this.#writes = new LeaseWrites(this.#referee, history, this.#complain)
    for (const index of schedule.clients.keys()) this.#open(index)
  }

  run(): LeaseResult {
    const { time, conditions } = this.#setting
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#do(action))
    time.runUntil(LEASE_FAULTY_MS)
    this.#handlers.stop()
    Object.assign(conditions, FAULTLESS)
    time.runUntil(time.now + 2 * this.#longest + RECOVERY_MS)
    this.#judgeOrder('at the end of the faulty time')
    this.#endByForce()
    this.#leave()
    this.#close()
    this.#judgeLeftovers()
    this.#writes.judge()
    return { violations: this.#violations, holdings: this.#referee.holdings, writes: this.#writes.outcomes }
  }

  #open(index: number): void {
    const plan = this.#schedule.clients[index]
    if (plan === undefined) return
    const { time } = this.#setting
    const loop = new EventLoop(time, plan.clockOffset)
    const session = new SimSession(this.#broker, this.#setting, { clientId: `client${index}`, run: loop.run, ...plan })
    const settings = { clock: loop.clock(), timeout: TIMEOUT_MS, maxQueued: 1_000, stopDelay: 0 }
    const client: Client = {
      store: new StateStore(session, settings),
      session,
      loop,
      index,
      isLeaving: false,
      closed: false,
    }
    client.store.status$.subscribe({
      next: () => this.#handled(client),
      complete: () => {
        client.closed = true
      },
    })
    client.store.errors$.subscribe(() => this.#handled(client))
    this.#clients.push(client)
    const handled = (): void => this.#handled(client)
    const court = { referee: this.#referee, writes: this.#writes, complain: this.#complain, handled }
    for (const candidate of this.#schedule.candidates) {
      if (candidate.client !== index) continue
      const name = `candidate${this.#candidates.length}@client${index} (${candidate.means} ${candidate.duration})`
      this.#candidates.push(new Candidate(name, candidate, client, court))
    }
  }

  #do(action: LeaseAction): void {
    if (action.type === 'restart') {
      if (this.#schedule.losesData) this.#referee.disturb()()
      this.#broker.restart({ ...action, keepData: !this.#schedule.losesData })
    } else if ('candidate' in action) this.#act(action.type, action.candidate)
    else {
      const client = this.#clients.filter(({ index }) => index === action.client).at(-1)
      if (client) this.#actReentrantly(client, action)
    }
  }

  #act(type: 'subscribe' | 'unsubscribe' | 'write' | 'lateWrite', plan: number): void {
    const candidate = this.#candidates.filter(one => one.plan === this.#schedule.candidates[plan]).at(-1)
    candidate?.client.loop.run(() => {
      if (type === 'subscribe') candidate.subscribe()
      else if (type === 'unsubscribe') candidate.unsubscribe()
      else candidate.write(type === 'lateWrite')
    })
  }

  #actReentrantly(client: Client, action: Exclude<LeaseAction, { type: 'restart' } | { candidate: number }>): void {
    const { session, loop, index } = client
    if (action.type === 'cut') session.cut()
    else if (action.type === 'freeze') loop.freeze(action.time, action.first)
    else if (action.type === 'jump') loop.setClock(action.offset)
    else if (action.type === 'takeover') this.#replace(index)
    else if (action.type === 'delete') loop.run(() => this.#delete(client))
    else loop.run(() => this.#leaveAndReturn(client))
  }

  #leaveAndReturn(client: Client): void {
    const { store, index } = client
    store.status$.subscribe({ complete: () => this.#replace(index) })
    void store.close()
  }

  /** Performs the reentrant actions of a subscriber, for candidates of its process. */
  #handled(client: Client): void {
    const own = this.#candidates.filter(one => one.client === client)
    const one = own[this.#setting.time.now % Math.max(1, own.length)]
    this.#handlers.handle(
      () => one?.subscribe(),
      () => one?.subscribe(),
      () => one?.unsubscribe(),
      () => one?.unsubscribe(),
      () => {
        one?.unsubscribe()
        one?.subscribe()
      },
      () => one?.write(false),
      () => one?.write(true),
      () => this.#closeInHandler(client),
    )
  }

  #closeInHandler(client: Client): void {
    const isNewest = this.#clients.filter(({ index }) => index === client.index).at(-1) === client
    if (client.isLeaving || client.closed || !isNewest) return
    client.isLeaving = true
    this.#leaveAndReturn(client)
  }

  /** Creates a client with the same id, on which the candidates of the old client continue. */
  #replace(index: number): void {
    const first = this.#candidates.length
    const subscribed = this.#candidates.filter(
      ({ client, isSubscribed }) => isSubscribed && client.store.clientId === `client${index}`,
    )
    this.#open(index)
    for (const one of this.#candidates.slice(first))
      if (subscribed.some(({ plan }) => plan === one.plan)) one.subscribe()
  }

  #delete({ store }: LeaseClient): void {
    const done = this.#referee.disturb()
    store.delete(LOCK).subscribe({ error: done, complete: done })
  }

  #remaining(): Candidate[] {
    return this.#candidates.filter(({ isSubscribed }) => isSubscribed)
  }

  #holder(): Candidate | undefined {
    return this.#remaining().find(({ state }) => state.status === 'held')
  }

  /** Returns the holder in the lock key. A restarted store without requests may keep an expired key. */
  #stored(): string | undefined {
    const record = this.#broker.engine.peek(LOCK_KEY)
    const valid = record && (record.expiresAt ?? 0) > this.#setting.time.clock().now()
    return valid ? new TextDecoder().decode(record.value) : undefined
  }

  /** Checks that one candidate holds the lease, also in the store, and the others wait for it. */
  #judgeOrder(when: string): void {
    const remaining = this.#remaining()
    const holder = this.#holder()
    const stored = this.#stored()
    const name = holder?.state.status === 'held' ? holder.state.holder : undefined
    if (stored !== name) this.#complain(`${when}: the holder is ${stored} at the store, but ${name} for the candidates`)
    if (remaining.length > 0 && holder === undefined) this.#complain(`${when}: no candidate holds the lease`)
    for (const { state, name: other } of remaining) {
      const isConsistent = state.status !== 'none' && state.holder === name
      if (!isConsistent) this.#complain(`${when}: ${name} holds, but ${other} has state ${JSON.stringify(state)}`)
    }
  }

  /** Deletes the lock key and checks that the watch notifies the holder. */
  #endByForce(): void {
    const { time } = this.#setting
    const client = this.#clients.find(({ closed }) => !closed)
    if (client === undefined || this.#holder() === undefined) return
    this.#delete(client)
    time.runUntil(time.now + SETTLE_MS)
    const wasNotified = this.#holder()?.state
    if (wasNotified && this.#stored() === undefined)
      this.#complain('The holder was not notified of the deleted lock key')
    time.runUntil(time.now + HANDOVER_MS)
    this.#judgeOrder('after the lock key was deleted')
  }

  #leave(): void {
    const { time } = this.#setting
    this.#holder()?.unsubscribe()
    time.runUntil(time.now + HANDOVER_MS)
    this.#judgeOrder('after the holder unsubscribed')
  }

  #close(): void {
    const { time } = this.#setting
    void this.#holder()?.client.store.close()
    time.runUntil(time.now + HANDOVER_MS)
    this.#judgeOrder("after the holder's client was closed")
  }

  #judgeLeftovers(): void {
    const { time } = this.#setting
    for (const one of this.#remaining()) one.unsubscribe()
    time.runUntil(time.now + HANDOVER_MS)
    if (this.#stored()) this.#complain('The lock key was not released')
    for (const { store, loop, closed } of this.#clients) {
      if (loop.timers > 0) this.#complain(`${store.clientId} still has ${loop.timers} timers`)
      const { size } = store[HOST].registry
      if (size > 0) this.#complain(`${store.clientId} still has ${size} watches`)
      if (store[HOST].closeHooks.size > 0) this.#complain(`${store.clientId} still has close hooks`)
      const registered = this.#broker.watchesOf(store.clientId)
      if (!closed && registered > 0) this.#complain(`${store.clientId} still has ${registered} registrations`)
      void store.close()
    }
  }

  readonly #complain = (what: string): void => void this.#violations.push(what)
}

/** The time in milliseconds in which notifications arrive without faults and a lease finds its next holder. */
const SETTLE_MS = 20
const HANDOVER_MS = 100
