import { SimBroker } from './broker.js'
import { Candidate } from './lease-candidate.js'
import { LeaseOracle, LOCK } from './lease-oracle.js'
import { LEASE_FAULTY_MS, type LeaseAction, type LeaseSchedule } from './lease-schedule.js'
import { LeaseWrites } from './lease-writes.js'
import type { ClientPlan } from './schedule.js'
import { SimClient } from './sim-client.js'
import { type SessionOptions, SimSession } from './sim-session.js'
import { StoreWorld } from './store-world.js'

class LeaseClient extends SimClient {
  isLeaving = false
}

/**
 * The time in milliseconds until all clients are connected, pending requests have been answered or timed out, and
 * watches are live. A late response delays all later ones by 3,000, and a watch that failed five times waits up to
 * 3,200 before it retries. The key of a former holder expires one lease later, and a candidate that was not notified
 * requests the lease after another lease.
 */
const RECOVERY_MS = 6_500
/** The time in milliseconds in which notifications arrive without faults and a lease finds its next holder. */
const SETTLE_MS = 20
const HANDOVER_MS = 100
const LOCK_KEY = new TextEncoder().encode(LOCK)

/** A store, and clients that compete for one lease. */
export class LeaseWorld extends StoreWorld<LeaseAction, LeaseSchedule, LeaseClient> {
  protected readonly faultyMs = LEASE_FAULTY_MS
  protected readonly settleMs: number
  readonly #broker: SimBroker
  readonly #oracle: LeaseOracle
  readonly #writes: LeaseWrites
  /** All candidates ever created. The latest candidate of each plan acts. */
  readonly #candidates: Candidate[] = []

  constructor(schedule: LeaseSchedule) {
    super(schedule, { silentExpiry: schedule.silentExpiry })
    const longest = Math.max(...schedule.candidates.map(({ duration }) => duration))
    this.settleMs = 2 * longest + RECOVERY_MS
    const { time, history } = this.setting
    const complain = (what: string): void => this.complain(what)
    this.#broker = new SimBroker(this.setting)
    this.#oracle = new LeaseOracle({ time, history, longest, complain })
    this.#writes = new LeaseWrites(this.#oracle, history, complain)
    for (const i of schedule.clients.keys()) this.open(i)
  }

  protected override endFaults(): void {
    this.handlers.stop()
    super.endFaults()
  }

  protected override judge(): void {
    this.#judgeOrder('at the end of the faulty time')
    this.#endByForce()
    this.#holder()?.unsubscribe()
    this.#judgeHandover('after the holder unsubscribed')
    void this.#holder()?.client.store.close()
    this.#judgeHandover("after the holder's client was closed")
    this.#judgeTeardown()
    this.#writes.judge()
  }

  protected override create(i: number, plan: ClientPlan): LeaseClient {
    const connect = (options: SessionOptions): SimSession => new SimSession(this.#broker, this.setting, options)
    const client = new LeaseClient(`client${i}`, plan, this.setting.time, connect)
    client.onEvents(() => this.#handle(client))
    return client
  }

  protected override open(i: number): LeaseClient | undefined {
    const client = super.open(i)
    if (client === undefined) return undefined
    const host = {
      oracle: this.#oracle,
      writes: this.#writes,
      complain: (what: string) => this.complain(what),
      handled: () => this.#handle(client),
    }
    for (const plan of this.schedule.candidates) {
      if (plan.client !== i) continue
      const name = `candidate${this.#candidates.length}@${client.name} (${plan.means} ${plan.duration})`
      this.#candidates.push(new Candidate(name, plan, client, host))
    }
    return client
  }

  protected override perform(action: LeaseAction): void {
    if (action.type === 'restart') {
      if (this.schedule.losesData) this.#oracle.disturb()()
      this.#broker.restart({ ...action, keepData: !this.schedule.losesData })
    } else if ('candidate' in action) {
      const plan = this.schedule.candidates[action.candidate]
      const candidate = this.#candidates.filter(one => one.plan === plan).at(-1)
      candidate?.client.loop.run(() => {
        if (action.type === 'subscribe') candidate.subscribe()
        else if (action.type === 'unsubscribe') candidate.unsubscribe()
        else candidate.write(action.type === 'lateWrite')
      })
    } else this.#performAtClient(action, this.clients[action.client])
  }

  #performAtClient(
    action: Exclude<LeaseAction, { type: 'restart' } | { candidate: number }>,
    client: LeaseClient | undefined,
  ): void {
    if (client === undefined) return
    const { session, loop } = client
    if (action.type === 'cut') session.cut()
    else if (action.type === 'freeze') loop.freeze(action.time, action.first)
    else if (action.type === 'jump') loop.setClock(action.offset)
    else if (action.type === 'takeover') this.#replace(client.name, action.client)
    else if (action.type === 'delete') loop.run(() => this.#delete(client))
    else loop.run(() => this.#leaveAndReturn(client, action.client))
  }

  /** Closes a client, and then creates another one. */
  #leaveAndReturn({ store, name }: LeaseClient, i: number): void {
    store.status$.subscribe({ complete: () => this.#replace(name, i) })
    void store.close()
  }

  /** Creates a client with the same id, on which the candidates of the old client continue. */
  #replace(name: string, i: number): void {
    const first = this.#candidates.length
    const subscribed = this.#candidates.filter(one => one.isSubscribed && one.client.name === name)
    this.open(i)
    for (const one of this.#candidates.slice(first))
      if (subscribed.some(({ plan }) => plan === one.plan)) one.subscribe()
  }

  #delete({ store }: LeaseClient): void {
    const done = this.#oracle.disturb()
    store.delete(LOCK).subscribe({ error: done, complete: done })
  }

  /** Performs the reentrant actions of a handler, at a candidate of its process. */
  #handle(client: LeaseClient): void {
    const own = this.#candidates.filter(one => one.client === client)
    const one = own[this.setting.time.now % Math.max(1, own.length)]
    this.handlers.handle(
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

  #closeInHandler(client: LeaseClient): void {
    const i = this.clients.indexOf(client)
    if (client.isLeaving || client.isEnded || i < 0) return
    client.isLeaving = true
    this.#leaveAndReturn(client, i)
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
    const valid = record && (record.expiresAt ?? 0) > this.setting.time.clock().now()
    return valid ? new TextDecoder().decode(record.value) : undefined
  }

  /** Checks that one candidate holds the lease, also in the store, and the others wait for it. */
  #judgeOrder(when: string): void {
    const remaining = this.#remaining()
    const holder = this.#holder()
    const stored = this.#stored()
    const name = holder?.state.status === 'held' ? holder.state.holder : undefined
    if (stored !== name) this.complain(`${when}: the holder is ${stored} at the store, but ${name} for the candidates`)
    if (remaining.length > 0 && holder === undefined) this.complain(`${when}: no candidate holds the lease`)
    for (const { state, name: other } of remaining) {
      const isConsistent = state.status !== 'none' && state.holder === name
      if (!isConsistent) this.complain(`${when}: ${name} holds, but ${other} has state ${JSON.stringify(state)}`)
    }
  }

  /** Deletes the lock key and checks that the watch notifies the holder. */
  #endByForce(): void {
    const client = this.everyone.find(({ isEnded }) => !isEnded)
    if (client === undefined || this.#holder() === undefined) return
    this.#delete(client)
    this.runFor(SETTLE_MS)
    if (this.#holder() && this.#stored() === undefined)
      this.complain('the holder was not notified of the deleted lock key')
    this.#judgeHandover('after the lock key was deleted')
  }

  #judgeHandover(when: string): void {
    this.runFor(HANDOVER_MS)
    this.#judgeOrder(when)
  }

  /** Checks that nothing is left when all candidates have left. */
  #judgeTeardown(): void {
    for (const one of this.#remaining()) one.unsubscribe()
    this.runFor(HANDOVER_MS)
    if (this.#stored()) this.complain('the lock key was not released')
    for (const client of this.everyone) {
      this.judgeLeftovers(client)
      const registered = this.#broker.watchesOf(client.name)
      if (!client.isEnded && registered > 0) this.complain(`${client.name} still has ${registered} registrations`)
    }
  }
}
