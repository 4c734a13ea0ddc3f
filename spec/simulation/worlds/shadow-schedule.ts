import { Random } from '../../../harness/random.js'
import { conditionsOf, kindOf } from './optimistic-schedule.js'
import {
  byTime,
  type ClientPlan,
  FAULTY_MS,
  type PageAction,
  type StoreSchedule,
  withReentrancy,
  worldsOf,
} from './schedule.js'

export const FIELDS = ['a', 'b', 'c'] as const
export type Field = (typeof FIELDS)[number]

/** An action of a device or its applications. Client 0 is the device. */
export type DocumentAction = { readonly at: number; readonly client: number } & (
  | { readonly type: 'wish'; readonly fields: readonly Field[]; readonly times: number }
  | { readonly type: 'delete'; readonly of: 'desired' | 'reported' }
  /** The device reports a measurement periodically. @param every - the interval in milliseconds */
  | { readonly type: 'measure'; readonly times: number; readonly every: number }
)

export type ShadowAction = PageAction | DocumentAction

export interface ShadowPlan extends ClientPlan {
  readonly offline: 'latest' | 'cas' | undefined
}

export interface ShadowSchedule extends StoreSchedule<ShadowAction, ShadowPlan> {
  /** The probability that the device fails to apply a delta. */
  readonly fails: number
  /** The maximum duration of applying a delta, in milliseconds. */
  readonly work: number
}

export const SHADOW_GENERATORS = [first, second, third, fourth]

function third(seed: number): ShadowSchedule {
  return withReentrancy(second(seed))
}

/** Adds throttled timers, steps of clocks, and slow links. */
function fourth(seed: number): ShadowSchedule {
  const plain = third(seed)
  const { worlds, conditions } = worldsOf(plain, FAULTY_MS, () => true)
  return { ...plain, conditions, actions: [...plain.actions, ...worlds].sort(byTime) }
}

/** Makes the device report more than the desired fields in half of the schedules. */
function second(seed: number): ShadowSchedule {
  const random = new Random(seed ^ 0x25ad0)
  const schedule = first(random.int(0, 2 ** 31))
  if (random.chance(0.5)) return { ...schedule, seed }
  const measure = (): ShadowAction => ({
    at: random.int(0, FAULTY_MS),
    type: 'measure',
    client: 0,
    times: random.pick([1, 5, 100]),
    every: random.pick([5, 20, 100]),
  })
  const actions = [...schedule.actions, ...Array.from({ length: random.int(1, 4) }, measure)]
  return { ...schedule, seed, actions: actions.sort(byTime) }
}

function first(seed: number): ShadowSchedule {
  const random = new Random(seed ^ 0x5ad0)
  const kind = kindOf(random)
  const clients = Array.from({ length: random.int(2, 4) }, () => planOf(random))
  const conditions = { ...conditionsOf(random), oddReply: 0 }
  const moments = [random.int(0, FAULTY_MS - 1_000), random.int(0, FAULTY_MS - 1_000)] as const
  const at = (): number =>
    random.chance(0.4) ? random.int(0, FAULTY_MS) : random.pick(moments) + random.int(0, random.pick([60, 400]))
  const actions = Array.from({ length: random.int(4, 24) }, () => actionOf(random, at(), clients.length))
  actions.sort(byTime)
  return { seed, kind, clients, conditions, fails: random.pick([0, 0, 0.3]), work: random.pick([0, 20, 600]), actions }
}

const planOf = (random: Random): ShadowPlan => ({
  keepSession: random.chance(0.7),
  cleanStart: random.chance(0.1),
  clockOffset: random.chance(0.5) ? 0 : random.int(-20_000, 20_000),
  offline: random.pick([undefined, 'latest', 'latest', 'cas']),
})

function actionOf(random: Random, at: number, clients: number): ShadowAction {
  const client = random.int(0, clients - 1)
  const dice = random.int(1, 100)
  if (dice <= 50) {
    const fields = FIELDS.filter(() => random.chance(0.45))
    const some = fields.length === 0 ? [random.pick(FIELDS)] : fields
    return { at, type: 'wish', client: random.int(1, clients - 1), fields: some, times: random.pick([1, 1, 1, 3]) }
  }
  if (dice <= 56) return { at, type: 'delete', client, of: random.pick(['desired', 'desired', 'reported']) }
  if (dice <= 64) return { at, type: 'reload', client, pause: random.pick([0, 100, 2_000]) }
  if (dice <= 84) return { at, type: 'cut', client }
  if (dice <= 92)
    return { at, type: 'freeze', client, time: random.int(10, 2_000), first: random.pick(['timers', 'messages']) }
  return {
    at,
    type: 'restart',
    keepData: random.chance(0.8),
    keepSessions: random.chance(0.7),
    outage: random.int(0, random.pick([50, 500, 2_500])),
    clockBack: random.chance(0.2) ? random.int(-3_000, 3_000) : 0,
  }
}
