import { Random } from '../../../harness/random.js'
import type { Conditions } from './network.js'
import {
  type BrokerKind,
  byTime,
  type ClientPlan,
  type PageAction,
  type StoreSchedule,
  withReentrancy,
  worldsOf,
} from './schedule.js'

export const OPTIMISTIC_FAULTY_MS = 8_000

export type WriterAction = {
  readonly at: number
  readonly client: number
} /** The user of a page writes, `times` in quick succession, as with a slider. */ & (
  | { readonly type: 'set'; readonly times: number }
  /** The same client writes directly, bypassing the page. */
  | { readonly type: 'plain' | 'delete' | 'expiring' }
  /** The page unsubscribes, and subscribes again after a pause. */
  | { readonly type: 'blink'; readonly pause: number }
)

export type OptimisticAction = PageAction | WriterAction

export interface WriterPlan extends ClientPlan {
  readonly conflict: 'last' | 'refuse' | 'merge'
  readonly offline: 'drop' | 'latest' | 'ask' | 'cas' | undefined
  /** In milliseconds. */
  readonly maxAge: number
  /** The index of the page's storage, if it has one. Pages may share a storage. */
  readonly storage: number | undefined
  /** The probability that the user approves late writes. */
  readonly approval: number
  /** Whether the page does not subscribe to its view. The default is `false`. */
  readonly isUnwatched?: boolean
}

export interface OptimisticSchedule extends StoreSchedule<OptimisticAction, WriterPlan> {
  readonly storage: StoragePlan
}

/** The storage of late writes of all pages. */
export interface StoragePlan {
  /** The probability that an operation fails. */
  readonly failureRate: number
  /** The maximum duration of an operation, in milliseconds. */
  readonly maxDelayMs: number
}

export const OPTIMISTIC_GENERATORS = [first, second, third, fourth]

/** Adds pages that show nothing, pages without a network, throttled timers, steps of clocks, and slow links. */
function fourth(seed: number): OptimisticSchedule {
  const random = new Random(seed ^ 0x4a77)
  const plain = third(seed)
  const clients = plain.clients.map(plan => ({ ...plan, isUnwatched: random.chance(0.4) }))
  const trips = Array.from({ length: random.int(0, 3) }, () => tripOf(random, random.int(0, clients.length - 1)))
  // A stored write is as old as the wall clock says.
  const { worlds, conditions } = worldsOf(plain, OPTIMISTIC_FAULTY_MS, i => clients[i]?.storage === undefined)
  const actions = [...plain.actions, ...trips.flat(), ...worlds].sort(byTime)
  return { ...plain, clients, conditions, actions }
}

/** A page loses its network, its user writes, and the page is perhaps closed. */
function tripOf(random: Random, client: number): OptimisticAction[] {
  const at = random.int(0, OPTIMISTIC_FAULTY_MS - 2_000)
  const actions: OptimisticAction[] = [
    { at, type: 'away', client, time: random.pick([500, 3_000, 6_000]) },
    { at: at + random.int(0, 500), type: 'set', client, times: random.pick([1, 1, 2]) },
  ]
  if (random.chance(0.7))
    actions.push({ at: at + random.int(300, 900), type: 'reload', client, pause: random.pick([0, 300, 2_000]) })
  if (random.chance(0.4)) actions.push({ at: at + random.int(500, 1_500), type: 'set', client, times: 1 })
  return actions
}

/** Makes storages so slow in a quarter of the schedules that connections are lost while a closing client waits. */
function third(seed: number): OptimisticSchedule {
  const random = new Random(seed ^ 0x510)
  const schedule = second(seed)
  if (random.chance(0.75)) return schedule
  return { ...schedule, storage: { ...schedule.storage, maxDelayMs: random.pick([300, 2_000]) } }
}

function second(seed: number): OptimisticSchedule {
  return withReentrancy(first(seed))
}

function first(seed: number): OptimisticSchedule {
  const random = new Random(seed ^ 0x0b)
  const kind = kindOf(random)
  const clients = Array.from({ length: random.int(1, 3) }, (_, i) => writerOf(random, i))
  const conditions = conditionsOf(random)
  const moments = Array.from({ length: random.int(1, 4) }, () => random.int(0, OPTIMISTIC_FAULTY_MS - 1_000))
  const at = (): number =>
    random.chance(0.4)
      ? random.int(0, OPTIMISTIC_FAULTY_MS)
      : random.pick([moments[0] ?? 0, ...moments.slice(1)]) + random.int(0, random.pick([60, 400]))
  const actions = Array.from({ length: random.int(4, 26) }, () => actionOf(random, at(), clients.length))
  actions.sort(byTime)
  const storage = { failureRate: random.rate(0.2, 0.2), maxDelayMs: 30 }
  return { seed, kind, clients, conditions, storage, actions }
}

export function kindOf(random: Random): BrokerKind {
  return {
    identifiers: random.chance(0.7),
    positions: random.chance(0.7),
    order: random.pick(['connection', 'connection', 'kind', 'topic']),
  }
}

export function conditionsOf(random: Random): Conditions {
  return {
    latency: random.pick([0, 2, 20, 60, 250]),
    brokerDelay: random.pick([0, 0, 5, 40, 150]),
    queueDelay: random.pick([0, 10, 300]),
    lostReply: random.rate(0.3, 0.1),
    lateReply: random.rate(0.3, 0.1),
    duplicate: random.rate(0.3, 0.2),
    oddReply: random.rate(0.1, 0.1),
    lostQueue: random.rate(0.2, 0.5),
    notice: random.pick([1, 100, 1_500]),
  }
}

function writerOf(random: Random, i: number): WriterPlan {
  const offline = random.pick([undefined, 'drop', 'latest', 'latest', 'ask', 'cas', 'cas'] as const)
  const isKept = offline !== undefined && offline !== 'drop' && random.chance(0.6)
  return {
    keepSession: random.chance(0.7),
    cleanStart: random.chance(0.1),
    clockOffset: random.chance(0.5) ? 0 : random.int(-20_000, 20_000),
    conflict: random.pick(['last', 'last', 'refuse', 'merge']),
    offline,
    maxAge: random.pick([300, 1_500, 60_000]),
    storage: isKept ? random.int(0, i) : undefined,
    approval: random.pick([0, 0.5, 1]),
  }
}

function actionOf(random: Random, at: number, clients: number): OptimisticAction {
  const client = random.int(0, clients - 1)
  const dice = random.int(1, 100)
  if (dice <= 40) return { at, type: 'set', client, times: random.pick([1, 1, 1, 2, 5]) }
  if (dice <= 52) return { at, type: 'plain', client }
  if (dice <= 56) return { at, type: 'delete', client }
  if (dice <= 60) return { at, type: 'expiring', client }
  if (dice <= 64) return { at, type: 'blink', client, pause: random.pick([0, 50, 700]) }
  if (dice <= 71) return { at, type: 'reload', client, pause: random.pick([0, 100, 2_000]) }
  if (dice <= 88) return { at, type: 'cut', client }
  if (dice <= 93)
    return { at, type: 'freeze', client, time: random.int(10, 3_000), first: random.pick(['timers', 'messages']) }
  return {
    at,
    type: 'restart',
    keepData: random.chance(0.7),
    keepSessions: random.chance(0.7),
    outage: random.int(0, random.pick([50, 500, 2_500])),
    clockBack: random.chance(0.2) ? random.int(-3_000, 3_000) : 0,
  }
}
