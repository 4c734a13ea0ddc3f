import { Random } from '../../../harness/random.js'
import type { Conditions } from './network.js'
import {
  type BrokerKind,
  byTime,
  type ClientPlan,
  FAULTY_MS,
  type Restart,
  type StoreSchedule,
  type WorldAction,
  withReentrancy,
  worldsOf,
} from './schedule.js'

export const GLOB_KEYS = ['s/a', 's/b', 's/c', 't/a'] as const
export const GLOBS = ['s/*', '*/a', '*'] as const

/** An event in a glob simulation, `at` milliseconds after the start. Numbers are indices of the lists above. */
export type GlobAction = { readonly at: number } & (
  | { readonly type: 'watch' | 'unwatch'; readonly client: number; readonly glob: number }
  | { readonly type: 'watchKey' | 'unwatchKey'; readonly client: number; readonly key: number }
  | { readonly type: 'set' | 'delete' | 'expire'; readonly client: number; readonly key: number }
  /** On a shared connection, the client closes and another client starts on it. Any other connection is cut. */
  | { readonly type: 'cut' | 'reopen'; readonly client: number }
  | ({ readonly type: 'restart' } & Restart)
  | WorldAction
)

export interface GlobSchedule extends StoreSchedule<GlobAction> {
  readonly hasGlobNotifications: boolean
  /** Whether handlers also watch and leave keys, in addition to globs. */
  readonly handlersWatchKeys?: boolean
}

export const GLOB_GENERATORS = [first, second, third, fourth, fifth, sixth]

/** Adds steps of clocks and slow links. Timers are not throttled, because the judge expects timeouts on time. */
function sixth(seed: number): GlobSchedule {
  const plain = fifth(seed)
  const { worlds, conditions } = worldsOf(plain, FAULTY_MS, () => true)
  const steps = worlds.filter(({ type }) => type === 'step')
  return { ...plain, conditions, actions: [...plain.actions, ...steps].sort(byTime) }
}

function fifth(seed: number): GlobSchedule {
  return { ...fourth(seed), handlersWatchKeys: true }
}

function fourth(seed: number): GlobSchedule {
  return withReentrancy(third(seed))
}

/**
 * Adds a third of schedules in which few keys appear and disappear constantly while overlapping globs get no response,
 * and also afterwards.
 */
function third(seed: number): GlobSchedule {
  const random = new Random(seed ^ 0x3610b)
  const schedule = second(random.int(0, 2 ** 31))
  if (random.chance(2 / 3)) return { ...schedule, seed }
  const { clients } = schedule
  const bad = random.pick<Partial<Conditions>>([
    { lostReply: 0.5 },
    { lostReply: 0.2, lateReply: 0.3 },
    { brokerDelay: 40, queueDelay: 300, lateReply: 0.1 },
  ])
  const begin = clients.map((_, client): GlobAction => ({ at: 0, type: 'watch', client, glob: globOf(random) }))
  const actions = Array.from({ length: random.int(10, 120) }, () => busyAction(random, clients.length))
  return {
    ...schedule,
    seed,
    kind: { identifiers: true, positions: true, order: 'connection' },
    hasGlobNotifications: true,
    conditions: { ...schedule.conditions, oddReply: 0, ...bad },
    actions: [...begin, ...actions].sort(byTime),
  }
}

function busyAction(random: Random, clients: number): GlobAction {
  const [at, client] = [random.int(0, FAULTY_MS + 1_500), random.int(0, clients - 1)]
  const key = random.pick([0, 0, 0, 1, 2])
  const dice = random.int(1, 100)
  if (dice <= 50) return { at, type: 'set', client, key }
  if (dice <= 90) return { at, type: 'delete', client, key }
  if (dice <= 96) return { at, type: 'watch', client, glob: globOf(random) }
  if (dice <= 99) return { at, type: 'unwatch', client, glob: globOf(random) }
  return { at, type: 'cut', client }
}

/** Makes responses lost, late or malformed so often that a store temporarily seems not to support globs. */
function second(seed: number): GlobSchedule {
  const random = new Random(seed ^ 0x2610b)
  const { conditions, ...base } = first(random.int(0, 2 ** 31))
  return {
    ...base,
    seed,
    conditions: {
      ...conditions,
      lostReply: random.rate(0.5, random.pick([0.1, 0.3, 0.6])),
      lateReply: random.rate(0.3, random.pick([0.1, 0.3])),
      oddReply: random.rate(0.4, random.pick([0.05, 0.3, 0.6])),
    },
  }
}

function first(seed: number): GlobSchedule {
  const random = new Random(seed ^ 0x610b)
  const native = random.chance(0.7)
  const kind: BrokerKind = {
    identifiers: random.chance(0.7),
    positions: random.chance(0.8),
    order: random.pick(['topic', 'kind', 'connection', 'connection']),
  }
  const clients = Array.from({ length: random.int(1, 3) }, () => planOf(random))
  const moments = Array.from({ length: random.int(1, 4) }, () => random.int(0, FAULTY_MS - 1_000))
  const at = (): number =>
    random.chance(0.4) ? random.int(0, FAULTY_MS) : random.pick([0, ...moments]) + random.int(0, 80)
  const actions = Array.from({ length: random.int(6, 30) }, () => actionOf(random, at(), clients.length))
  for (let n = random.int(0, 3); n > 0; n--) actions.push(...overtaken(random, clients.length))
  const watches = clients.map((_, client): GlobAction => ({ at: 0, type: 'watch', client, glob: globOf(random) }))
  const inOrder = [...watches, ...actions].sort(byTime)
  return { seed, kind, hasGlobNotifications: native, clients, conditions: conditionsOf(random), actions: inOrder }
}

const globOf = (random: Random): number => random.int(0, GLOBS.length - 1)

/**
 * Returns a client whose clocks are accurate enough that the store never rejects it, even when the store's own clock is
 * set back.
 */
const planOf = (random: Random): ClientPlan => ({
  keepSession: random.chance(0.7),
  cleanStart: random.chance(0.1),
  clockOffset: random.chance(0.5) ? 0 : random.int(-20_000, 20_000),
  shared: random.chance(0.2),
  stopDelay: random.pick([0, 0, 50, 500]),
})

function actionOf(random: Random, at: number, clients: number): GlobAction {
  const client = random.int(0, clients - 1)
  const key = random.pick([0, 0, 0, 1, 1, 2, 3])
  const dice = random.int(1, 100)
  if (dice <= 36) return { at, type: 'set', client, key }
  if (dice <= 54) return { at, type: 'delete', client, key }
  if (dice <= 58) return { at, type: 'expire', client, key }
  if (dice <= 67) return { at, type: 'watch', client, glob: globOf(random) }
  if (dice <= 74) return { at, type: 'unwatch', client, glob: globOf(random) }
  if (dice <= 78) return { at, type: 'watchKey', client, key }
  if (dice <= 82) return { at, type: 'unwatchKey', client, key }
  if (dice <= 93) return { at, type: random.pick(['cut', 'cut', 'cut', 'reopen']), client }
  return {
    at,
    type: 'restart',
    keepData: random.chance(0.4),
    keepSessions: random.chance(0.7),
    outage: random.int(0, 500),
    clockBack: random.chance(0.3) ? random.int(1, 3_000) : 0,
  }
}

/**
 * Returns actions in which a late notification of a single key arrives when a glob is watched, although the changes in
 * between were not notified.
 */
function overtaken(random: Random, clients: number): GlobAction[] {
  const [client, other] = [random.int(0, clients - 1), random.int(0, clients - 1)]
  const key = random.int(0, GLOB_KEYS.length - 1)
  let at = random.int(500, FAULTY_MS - 1_000)
  const later = (most: number): number => {
    at += random.int(0, most)
    return at
  }
  const begin = GLOBS.map((_, glob): GlobAction => ({ at, type: 'unwatch', client, glob }))
  return [
    ...begin,
    { at, type: 'watchKey', client, key },
    { at: later(500), type: 'set', client: other, key },
    { at: later(30), type: 'unwatchKey', client, key },
    { at: later(30), type: random.pick(['set', 'set', 'delete']), client: other, key },
    { at: later(30), type: 'watch', client, glob: globOf(random) },
  ]
}

function conditionsOf(random: Random): Conditions {
  return {
    latency: random.pick([0, 2, 20, 60]),
    brokerDelay: random.pick([0, 0, 5, 40, 150]),
    queueDelay: random.pick([0, 10, 300]),
    lostReply: random.rate(0.25, 0.1),
    lateReply: random.rate(0.25, 0.1),
    duplicate: random.rate(0.3, 0.2),
    notice: random.pick([1, 100, 1_500]),
  }
}
