import { Random } from '../../../harness/random.js'
import { VirtualTime } from '../../simulation/worlds/virtual-time.js'
import { Ledger } from './ledger.js'
import { NO_FAULTS, type SimulationContext } from './pipe.js'
import { type Action, FAULT_PERIOD_MS, GROUPS, HIDDEN_TIMER_PERIOD_MS, type Schedule } from './schedule.js'
import { type ClientEnvironment, SimClient } from './sim-client.js'
import { SimHub } from './sim-hub.js'

/** A time longer than any timeout, backoff and expiry during the faults, and longer than any freeze. */
const SETTLE_MS = 22_000
/** Enough time for a message and for closing a client, in ms. */
const CLOSE_MS = 4_000

const groupName = (group: number): string => `group${group}`

/** A hub, clients and a network on virtual time. */
export class World {
  readonly #schedule: Schedule
  readonly #context: SimulationContext
  readonly #ledger = new Ledger()
  readonly #hub: SimHub
  readonly #environment: ClientEnvironment
  /** The client of each plan, and all former clients. */
  readonly #clients: SimClient[] = []
  readonly #everyone: SimClient[] = []

  constructor(schedule: Schedule) {
    const { seed, conditions, clients } = schedule
    this.#schedule = schedule
    this.#context = { time: new VirtualTime(), random: new Random(seed ^ 0x5eed), conditions: { ...conditions } }
    this.#hub = new SimHub(this.#context, this.#ledger, schedule)
    this.#environment = { context: this.#context, hub: this.#hub, ledger: this.#ledger }
    for (const i of clients.keys()) this.#open(i)
  }

  run(): readonly string[] {
    const { time, conditions } = this.#context
    const hasHidden = this.#schedule.clients.some(({ isHidden }) => isHidden)
    const settledAt = FAULT_PERIOD_MS + SETTLE_MS + (hasHidden ? 3 * HIDDEN_TIMER_PERIOD_MS : 0)
    for (const action of this.#schedule.actions) time.after(action.at, () => this.#perform(action))
    time.runUntil(FAULT_PERIOD_MS)
    Object.assign(conditions, NO_FAULTS)
    time.runUntil(settledAt)
    this.#judgeConvergence()
    time.runUntil(settledAt + CLOSE_MS)
    for (const client of this.#everyone) client.judge()
    for (const client of this.#clients) client.close()
    time.runUntil(settledAt + 2 * CLOSE_MS)
    this.#judgeEnd()
    this.#ledger.judgeSent()
    return this.#ledger.complaints
  }

  #open(i: number): void {
    const plan = this.#schedule.clients[i]
    if (plan === undefined) return
    const client = new SimClient(`client${i}.${this.#everyone.length}`, plan, this.#environment)
    this.#clients[i] = client
    this.#everyone.push(client)
  }

  #perform(action: Action): void {
    if (action.type === 'publish') for (let i = 0; i < action.count; i++) this.#hub.publish(groupName(action.group))
    else if (action.type === 'tellAll') this.#hub.publish()
    else if (action.type === 'restart') this.#hub.restart(action.outage)
    else this.#performAtClient(action, this.#clients[action.client])
  }

  #performAtClient(action: Extract<Action, { client: number }>, client: SimClient | undefined): void {
    if (client === undefined) return
    if (action.type === 'send') for (let i = 0; i < action.count; i++) client.send(groupName(action.group), action.how)
    else if (action.type === 'event') client.sendEvent()
    else if (action.type === 'join') client.join(groupName(action.group))
    else if (action.type === 'leave') client.leave(groupName(action.group))
    else if (action.type === 'cut') client.wire?.cut()
    else if (action.type === 'halfOpen') client.wire?.silence(action.direction)
    else if (action.type === 'stall') client.wire?.[action.direction].stall(action.duration)
    else if (action.type === 'kick') this.#hub.kick(client.name)
    else if (action.type === 'freeze') client.freeze(action.duration, action.first)
    else {
      client.close()
      this.#open(action.client)
    }
  }

  /** Checks that all clients are in their wanted groups and receive new messages. */
  #judgeConvergence(): void {
    const { sessionIndex } = this.#hub.engine
    const complain = (what: string): void => this.#ledger.complain(what)
    const living = this.#clients.map(({ connectionId }) => connectionId)
    for (const { name, connectionId } of this.#clients) if (!connectionId) complain(`${name} is not connected`)
    const sessions = Array.from(sessionIndex.all, ({ connectionId }) => connectionId)
    if (!sameItems(sessions, living)) complain(`the hub has sessions ${sessions}, the clients are in ${living}`)
    for (let i = 0; i < GROUPS; i++) {
      const group = groupName(i)
      const members = Array.from(sessionIndex.ofGroup(group), ({ connectionId }) => connectionId)
      const wanting = this.#clients.filter(({ wantedGroups: wanted }) => wanted.includes(group))
      const wanted = wanting.map(({ connectionId }) => connectionId)
      if (!sameItems(members, wanted)) complain(`${group} has members ${members}, wanted by ${wanted}`)
      this.#hub.publish(group)
      for (const client of this.#clients) client.send(group, 'plain')
    }
  }

  #judgeEnd(): void {
    for (const { name, loop } of this.#everyone) {
      if (loop.timers > 0) this.#ledger.complain(`${name} left ${loop.timers} timers`)
    }
    const { sessionIndex, deadline } = this.#hub.engine
    if (sessionIndex.all.size > 0) this.#ledger.complain(`${sessionIndex.all.size} sessions are left at the hub`)
    if (deadline < Number.POSITIVE_INFINITY) this.#ledger.complain('the hub still waits for something')
  }
}

const sameItems = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every(item => others.includes(item))
