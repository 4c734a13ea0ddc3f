import { History } from '../../../harness/judges/history.js'
import { Random } from '../../../harness/random.js'
import { StateStoreError } from '../../../src/client/index.js'
import { HOST } from '../../../src/client/keys/store-view.js'
import type { Setting } from './connection.js'
import { FAULTLESS } from './network.js'
import { ReentrantHandlers } from './reentrant-handlers.js'
import type { StoreSchedule, TimedAction, WorldAction } from './schedule.js'
import type { SimClient } from './sim-client.js'
import { VirtualTime } from './virtual-time.js'

/** A client whose id is taken over before its first connection is rejected. */
const EXPECTED_CODES = ['timeout', 'outcome-unknown', 'closed', 'connection-refused']
/** The errors caused by odd replies. The request may have been executed. */
export const ODD_CODES: readonly string[] = ['payload', 'hlc', 'service-unknown', 'quota-exceeded', 'syntax-error']

/** A store, its clients and a network on virtual time: first with a schedule's faults, and then without faults. */
export abstract class StoreWorld<A extends TimedAction, S extends StoreSchedule<A>, C extends SimClient> {
  readonly schedule: S
  readonly setting: Setting
  readonly handlers: ReentrantHandlers
  /** The current client of each plan, if the plan has one, and all clients ever created. */
  protected readonly clients: (C | undefined)[] = []
  protected readonly everyone: C[] = []
  protected readonly violations: string[] = []

  constructor(schedule: S, store?: Pick<Setting, 'silentExpiry' | 'instanceId'>) {
    this.schedule = schedule
    this.handlers = new ReentrantHandlers(new Random(schedule.seed ^ 0xbac), schedule.reentrancy)
    const time = new VirtualTime()
    this.setting = {
      kind: schedule.kind,
      time,
      random: new Random(schedule.seed ^ 0x5eed),
      conditions: { ...schedule.conditions },
      history: new History(() => time.now),
      ...store,
    }
  }

  /** The time with faults, and the time after which the clients must have recovered from them, in milliseconds. */
  protected abstract readonly faultyMs: number
  protected abstract readonly settleMs: number

  /** Creates the client of a plan. A handler that runs at once does not find the client in `clients` yet. */
  protected open(i: number, connection?: C['session']): C | undefined {
    const plan = this.schedule.clients[i]
    if (plan === undefined) return undefined
    const client = this.create(i, plan, connection)
    this.everyone.push(client)
    this.clients[i] = client
    return client
  }

  /** @param connection - the caller's connection on which the previous client was closed */
  protected abstract create(i: number, plan: S['clients'][number], connection?: C['session']): C

  /** Runs the schedule, and returns the violated guarantees. */
  run(): readonly string[] {
    const { time } = this.setting
    for (const action of this.schedule.actions) time.after(action.at, () => this.perform(action))
    time.runUntil(this.faultyMs)
    this.endFaults()
    this.runFor(this.settleMs)
    this.judge()
    for (const { store } of this.everyone) void store.close()
    return this.violations
  }

  protected abstract perform(action: A): void

  protected performWorld(client: C | undefined, action: WorldAction): void {
    if (action.type === 'step') client?.loop.stepClock(action.by)
    else if (action.type === 'away') client?.session.goAway(action.time)
    else {
      client?.loop.hide(action.interval)
      this.setting.time.after(action.time, () => client?.loop.show())
    }
  }

  protected endFaults(): void {
    Object.assign(this.setting.conditions, FAULTLESS)
  }

  /** Checks the state after the clients have recovered. */
  protected abstract judge(): void

  protected runFor(ms: number): void {
    const { time } = this.setting
    time.runUntil(time.now + ms)
  }

  /** Whether requests may get odd replies, after which registrations are unknown. */
  get hasOddReplies(): boolean {
    return (this.schedule.conditions.oddReply ?? 0) > 0
  }

  /** Checks the code of an error that a subscriber received, and returns the code. */
  expectError(error: unknown, others: readonly string[] = []): string {
    const code = error instanceof StateStoreError ? error.code : String(error)
    const isOdd = this.hasOddReplies && ODD_CODES.includes(code)
    if (!EXPECTED_CODES.includes(code) && !others.includes(code) && !isOdd) this.complain(`unexpected error ${code}`)
    return code
  }

  /** Checks that a client without subscribers has no watches, timers and close hooks left. */
  protected judgeLeftovers({ name, store, loop }: C): void {
    const { registry, closeHooks } = store[HOST]
    if (registry.size > 0) this.complain(`${name} still has ${registry.size} watches`)
    if (loop.timers > 0) this.complain(`${name} still has ${loop.timers} timers`)
    if (closeHooks.size > 0) this.complain(`${name} still has close hooks`)
  }

  complain(what: string): void {
    this.violations.push(`${this.setting.time.now} ms ${what}`)
  }
}
