import { Random } from '../../../harness/random.js'
import type { ResumeOrder } from './event-loop.js'
import type { Conditions } from './network.js'
import { burstsOf, byTime, kindOf, type StoreSchedule, withReentrancy } from './schedule.js'

/** An event in a lease simulation, `at` milliseconds after the start. */
export type LeaseAction = { readonly at: number } & (
  | { readonly type: 'subscribe' | 'unsubscribe' | 'write' | 'lateWrite'; readonly candidate: number }
  | { readonly type: 'cut' | 'takeover' | 'close' | 'delete'; readonly client: number }
  | { readonly type: 'freeze'; readonly client: number; readonly time: number; readonly first: ResumeOrder }
  | { readonly type: 'jump'; readonly client: number; readonly offset: number }
  | { readonly type: 'restart'; readonly keepSessions: boolean; readonly outage: number }
)

/** A candidate, and the API by which it requests the lease. */
export interface CandidatePlan {
  readonly client: number
  readonly duration: number
  readonly means: 'lease' | 'withLock' | 'leadership'
}

export interface LeaseSchedule extends StoreSchedule<LeaseAction> {
  readonly candidates: readonly CandidatePlan[]
  /** Whether the store does not notify of expired keys. */
  readonly silentExpiry: boolean
  readonly losesData: boolean
}

export const LEASE_FAULTY_MS = 5_000

export const LEASE_GENERATORS = [first, second, third]

function first(seed: number): LeaseSchedule {
  return { ...second(seed), kind: { identifiers: false, positions: false, order: 'kind' } }
}

function third(seed: number): LeaseSchedule {
  return withReentrancy(second(seed))
}

/** Adds kinds of brokers and stores. */
function second(seed: number): LeaseSchedule {
  const random = new Random(seed ^ 0x1ea5e)
  const clients = Array.from({ length: random.int(2, 4) }, () => ({
    keepSession: random.chance(0.6),
    cleanStart: random.chance(0.15),
    clockOffset: random.chance(0.5) ? 0 : random.int(-30_000, 30_000),
  }))
  const candidates = Array.from({ length: clients.length + random.int(0, 1) }, (_, i): CandidatePlan => {
    const duration = random.chance(0.7) ? random.int(300, 1_000) : random.int(300, 3_000)
    return { client: i % clients.length, duration, means: random.pick(['lease', 'lease', 'withLock', 'leadership']) }
  })
  const losesData = random.chance(0.15)
  const dice = { random, clients: clients.length, candidates, deletes: random.chance(0.3), jumps: random.chance(0.2) }
  const at = burstsOf(random, 3, LEASE_FAULTY_MS)
  const actions = Array.from({ length: random.int(6, 20) }, () => actionOf(dice, at()))
  const entries = candidates.map(
    (_, candidate): LeaseAction => ({ at: random.int(0, 100), type: 'subscribe', candidate }),
  )
  const conditions = conditionsOf(random)
  const all = [...entries, ...actions].sort(byTime)
  const silentExpiry = random.chance(0.2)
  const kind = kindOf(random)
  return { seed, kind, clients, candidates, conditions, silentExpiry, losesData, actions: all }
}

function conditionsOf(random: Random): Conditions {
  return {
    latency: random.pick([0, 2, 20, 60, 200]),
    brokerDelay: random.pick([0, 0, 5, 40]),
    queueDelay: random.pick([0, 10, 300]),
    lostReply: random.rate(0.3, 0.2),
    lateReply: random.rate(0.2, 0.1),
    duplicate: random.rate(0.4, 0.2),
    notice: random.pick([1, 100, 1_500]),
  }
}

interface Dice {
  readonly random: Random
  readonly clients: number
  readonly candidates: readonly CandidatePlan[]
  readonly deletes: boolean
  readonly jumps: boolean
}

function actionOf({ random, clients, candidates, deletes, jumps }: Dice, at: number): LeaseAction {
  const client = random.int(0, clients - 1)
  const candidate = random.int(0, candidates.length - 1)
  const duration = candidates[candidate]?.duration ?? 0
  const dice = random.int(1, 100)
  if (dice <= 14) return { at, type: 'unsubscribe', candidate }
  if (dice <= 26) return { at, type: 'subscribe', candidate }
  if (dice <= 44) return { at, type: 'write', candidate }
  if (dice <= 54) return { at, type: 'lateWrite', candidate }
  if (dice <= 68) return { at, type: 'cut', client }
  if (dice <= 84) {
    const time = Math.min(random.int(20, 2 * duration), LEASE_FAULTY_MS - at)
    return { at, type: 'freeze', client, time, first: random.pick(['timers', 'messages']) }
  }
  if (dice <= 88) return { at, type: 'close', client }
  if (dice <= 91) return { at, type: 'takeover', client }
  if (dice <= 94) return { at, type: 'restart', keepSessions: random.chance(0.5), outage: random.int(0, 500) }
  if (dice <= 97 && jumps) return { at, type: 'jump', client, offset: random.int(-30_000, 30_000) }
  if (deletes) return { at, type: 'delete', client }
  return { at, type: 'write', candidate }
}
