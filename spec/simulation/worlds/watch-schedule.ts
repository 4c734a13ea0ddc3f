import { Random } from '../../../harness/random.js'
import type { Conditions } from './network.js'
import {
  type BrokerKind,
  burstsOf,
  byTime,
  type ClientPlan,
  FAULTY_MS,
  kindOf,
  type Restart,
  type StoreSchedule,
  type WorldAction,
  worldsOf,
} from './schedule.js'

/** An action of a client on a key, `at` milliseconds after the start. */
export type KeyAction = { readonly at: number; readonly client: number; readonly key: number } & (
  | { readonly type: 'set'; readonly how: 'plain' | 'NX' | 'NEX' | 'PX' }
  | { readonly type: 'delete' | 'deleteIf' | 'watch' | 'unwatch' }
  /** All subscribers leave, and return either immediately, as components do, or after `pause` milliseconds. */
  | { readonly type: 'remount'; readonly pause: number }
)

/** A failover: an attached store stops, and another store starts later without registrations. */
export interface Failover {
  readonly keepData: boolean
  /** The time in milliseconds until the other store starts. */
  readonly outage: number
  /** Whether the broker announces the outage. */
  readonly isAnnounced: boolean
}

/** An event in the simulation, `at` milliseconds after the start. */
export type WatchAction =
  | KeyAction
  | { readonly at: number; readonly type: 'cut'; readonly client: number }
  | { readonly at: number; readonly type: 'takeover'; readonly client: number }
  /** A node disconnects a client, which then connects to another node. */
  | { readonly at: number; readonly type: 'move'; readonly client: number }
  /** The set of keys of the client's `watchAll`, one bit per key. */
  | { readonly at: number; readonly type: 'watchAll'; readonly client: number; readonly keys: number }
  /** On a caller's connection, the client is closed and another client is created on the same connection. */
  | { readonly at: number; readonly type: 'reopen'; readonly client: number }
  /** The store's wall clock is set back at runtime by `back` milliseconds. Negative values set it forward. */
  | { readonly at: number; readonly type: 'clock'; readonly back: number }
  | WorldAction
  | ({ readonly at: number; readonly type: 'restart' } & Restart)
  | ({ readonly at: number; readonly type: 'failover' } & Failover)

/** The schedule of a store and of clients that watch its keys. */
export interface WatchSchedule extends StoreSchedule<WatchAction> {
  /** The number of brokers that share the store. The default is 1. */
  readonly nodes?: number
  /** The nodes that never answer, one bit per node. The default is none. */
  readonly hanging?: number
  readonly beside?: true
}

export const MAX_KEYS = 4
const FIRST_KEYS = 2

export const WATCH_GENERATORS = [first, second, third, fourth, fifth]
export const NODE_GENERATORS = [nodeSchedule, hangingSchedule]

/** Adds throttled timers, steps of clocks, and slow links. */
function fifth(seed: number): WatchSchedule {
  return withWorlds(fourth(seed))
}

function withWorlds(plain: WatchSchedule): WatchSchedule {
  const { worlds, conditions } = worldsOf(plain, FAULTY_MS, () => true)
  return { ...plain, conditions, actions: [...plain.actions, ...worlds].sort(byTime) }
}

/** Adds nodes that never answer, but for one, and what {@link fifth} adds. */
function hangingSchedule(seed: number): WatchSchedule {
  const random = new Random(seed ^ 0x4a96)
  const schedule = withWorlds(nodeSchedule(seed))
  const { nodes = 1 } = schedule
  const answering = random.int(0, nodes - 1)
  return { ...schedule, hanging: random.int(0, 2 ** nodes - 1) & ~(1 << answering) }
}

function first(seed: number): WatchSchedule {
  const random = new Random(seed)
  const clients = Array.from({ length: random.int(2, 3) }, () => ({
    keepSession: random.chance(0.6),
    cleanStart: random.chance(0.15),
    clockOffset: random.chance(0.5) ? 0 : random.int(-59_000, 59_000),
  }))
  const conditions = conditionsOf(random)
  const at = burstsOf(random, 4, FAULTY_MS)
  const actions = Array.from({ length: random.int(8, 24) }, () => firstAction(random, at(), clients.length))
  const watches = clients.map(
    (_, client): WatchAction => ({ at: 0, type: 'watch', client, key: random.int(0, FIRST_KEYS - 1) }),
  )
  const kind: BrokerKind = { identifiers: false, positions: false, order: 'kind' }
  return { seed, kind, clients, conditions, actions: [...watches, ...actions].sort(byTime) }
}

function firstAction(random: Random, at: number, clients: number): WatchAction {
  const client = random.int(0, clients - 1)
  const key = random.int(0, FIRST_KEYS - 1)
  const dice = random.int(1, 100)
  if (dice <= 36)
    return { at, type: 'set', client, key, how: random.pick(['plain', 'plain', 'plain', 'NX', 'NEX', 'PX']) }
  if (dice <= 46) return { at, type: 'delete', client, key }
  if (dice <= 50) return { at, type: 'deleteIf', client, key }
  if (dice <= 64) return { at, type: 'watch', client, key }
  if (dice <= 72) return { at, type: 'unwatch', client, key }
  if (dice <= 92) return { at, type: 'cut', client }
  if (dice <= 95) return { at, type: 'takeover', client }
  return {
    at,
    type: 'restart',
    keepData: random.chance(0.5),
    keepSessions: random.chance(0.5),
    outage: random.int(0, 500),
  }
}

/**
 * Adds more causes of earlier failures: lost data with kept sessions, clocks set back, other orders, remounts and
 * shared connections.
 */
function second(seed: number): WatchSchedule {
  const random = new Random(seed)
  const kind = kindOf(random)
  const clients = Array.from({ length: random.int(1, 3) }, () => secondClient(random))
  // Responses overtake notifications only at slow brokers.
  const conditions = { ...conditionsOf(random), brokerDelay: random.pick([0, 5, 40, 150, 400]) }
  const at = burstsOf(random, random.int(1, 4), FAULTY_MS)
  const actions = Array.from({ length: random.int(4, 24) }, () => secondAction(random, at(), clients.length))
  for (const scene of [rewatchScene, dataLossScene])
    if (random.chance(0.25)) actions.push(...scene(random, clients.length))
  const watches = clients.map(
    (_, client): WatchAction => ({ at: 0, type: 'watch', client, key: random.int(0, FIRST_KEYS - 1) }),
  )
  return { seed, kind, clients, conditions, actions: [...watches, ...actions].sort(byTime) }
}

/**
 * Returns a client whose clocks are accurate enough that the store never rejects it, even when the store's own clock is
 * set back.
 */
const secondClient = (random: Random): ClientPlan => ({
  keepSession: random.chance(0.75),
  cleanStart: random.chance(0.1),
  clockOffset: random.chance(0.5) ? 0 : random.int(-20_000, 20_000),
  clockRate: random.pick([1, 1, 0.97, 1.03]),
  shared: random.chance(0.2),
  stopDelay: random.pick([0, 0, 50, 500]),
})

function secondAction(random: Random, at: number, clients: number): WatchAction {
  const client = random.int(0, clients - 1)
  // Races require a key with many changes.
  const key = random.pick([0, 0, 0, 1])
  const dice = random.int(1, 100)
  if (dice <= 30)
    return { at, type: 'set', client, key, how: random.pick(['plain', 'plain', 'plain', 'plain', 'NX', 'NEX', 'PX']) }
  if (dice <= 44) return { at, type: 'delete', client, key }
  if (dice <= 47) return { at, type: 'deleteIf', client, key }
  if (dice <= 56) return { at, type: 'watch', client, key }
  if (dice <= 62) return { at, type: 'unwatch', client, key }
  if (dice <= 68) return { at, type: 'remount', client, key, pause: random.pick([0, 0, 20, 100]) }
  if (dice <= 72) return { at, type: 'watchAll', client, keys: random.int(0, 2 ** FIRST_KEYS - 1) }
  if (dice <= 87) return { at, type: 'cut', client }
  if (dice <= 89) return { at, type: 'takeover', client }
  if (dice <= 91) return { at, type: 'reopen', client }
  return {
    at,
    type: 'restart',
    keepData: random.chance(0.35),
    keepSessions: random.chance(0.75),
    outage: random.int(0, 500),
    clockBack: random.chance(0.4) ? random.int(1, random.pick([50, 3_000, 8_000])) : 0,
  }
}

/**
 * Adds odd replies, sessions of which a part is lost, lost queues, high latency, and clocks that are set at runtime.
 */
function third(seed: number): WatchSchedule {
  const random = new Random(seed ^ 0x3d)
  const { kind, ...base } = second(random.int(0, 2 ** 31))
  const clients = Array.from({ length: random.int(1, 4) }, () => secondClient(random))
  const conditions: Conditions = {
    ...base.conditions,
    latency: random.pick([0, 2, 20, 60, 250, 700]),
    queueDelay: random.pick([0, 10, 300, 2_000]),
    oddReply: random.rate(0.4, random.pick([0.05, 0.3])),
    refusedFilter: random.rate(0.3, 0.3),
    lostQueue: random.rate(0.3, 0.5),
    lostIdentifier: random.rate(0.3, 0.5),
  }
  const at = burstsOf(random, random.int(1, 4), FAULTY_MS)
  const actions = Array.from({ length: random.int(4, 30) }, () => thirdAction(random, at(), clients.length))
  for (const scene of [rewatchScene, dataLossScene])
    if (random.chance(0.25)) actions.push(...scene(random, clients.length))
  const watches = clients.map(
    (_, client): WatchAction => ({ at: 0, type: 'watch', client, key: random.int(0, MAX_KEYS - 1) }),
  )
  return { seed, kind, clients, conditions, actions: [...watches, ...actions].sort(byTime) }
}

/** Makes handlers act reentrantly in half of the schedules. In some schedules, the store keeps order only per key. */
function fourth(seed: number): WatchSchedule {
  const schedule = third(seed)
  const random = new Random(seed ^ 0xca11)
  if (random.chance(0.5)) return schedule
  const { kind } = schedule
  return {
    ...schedule,
    kind: random.chance(0.3) ? { ...kind, order: 'key' } : kind,
    reentrancy: random.pick([0.05, 0.2, 0.5]),
  }
}

function thirdAction(random: Random, at: number, clients: number): WatchAction {
  const dice = random.int(1, 100)
  if (dice <= 3) return { at, type: 'clock', back: random.int(-15_000, 15_000) }
  if (dice <= 6)
    return { at, type: 'watchAll', client: random.int(0, clients - 1), keys: random.int(0, 2 ** MAX_KEYS - 1) }
  const action = secondAction(random, at, clients)
  if ('key' in action) return random.chance(0.2) ? { ...action, key: random.int(0, MAX_KEYS - 1) } : action
  if (action.type !== 'restart') return action
  return {
    ...action,
    forgotten: random.chance(0.5) ? random.int(0, 2 ** clients - 1) : 0,
    clockBack: random.chance(0.2) ? -random.int(1, random.pick([50, 3_000, 20_000])) : (action.clockBack ?? 0),
  }
}

/** Returns actions that delete a key while its watcher is briefly away, with a change still in flight. */
function rewatchScene(random: Random, clients: number): WatchAction[] {
  const [client, other] = [random.int(0, clients - 1), random.int(0, clients - 1)]
  let at = random.int(500, FAULTY_MS - 500)
  const later = (): number => {
    at += random.int(0, 60)
    return at
  }
  return [
    { at, type: 'set', client: other, key: 0, how: 'plain' },
    { at: later(), type: 'unwatch', client, key: 0 },
    { at: later(), type: 'delete', client: other, key: 0 },
    { at: later(), type: 'watch', client, key: 0 },
  ]
}

/** Returns actions in which a store loses its data while the broker keeps the queued notifications. */
function dataLossScene(random: Random, clients: number): WatchAction[] {
  const client = random.int(0, clients - 1)
  const at = random.int(500, FAULTY_MS - 2_000)
  const clockBack = random.chance(0.5) ? random.int(0, 2_000) : 0
  const after = at + random.int(300, 1_500)
  return [
    { at, type: 'set', client, key: 0, how: 'plain' },
    { at: at + random.int(0, 60), type: 'set', client, key: 0, how: 'plain' },
    { at: at + random.int(0, 90), type: 'restart', keepData: false, keepSessions: true, outage: 100, clockBack },
    { at: after, type: 'set', client: random.int(0, clients - 1), key: 0, how: 'plain' },
    { at: after + random.int(0, 60), type: random.pick(['delete', 'deleteIf']), client, key: 0 },
  ]
}

function conditionsOf(random: Random): Conditions {
  return {
    latency: random.pick([0, 2, 20, 60]),
    brokerDelay: random.pick([0, 0, 5, 40]),
    queueDelay: random.pick([0, 10, 300]),
    lostReply: random.rate(0.3, 0.1),
    lateReply: random.rate(0.3, 0.1),
    duplicate: random.rate(0.4, 0.2),
    notice: random.pick([1, 100, 1_500]),
  }
}

/** Returns a schedule with clients that move between nodes, some of which lag. Nodes never lose the log. */
function nodeSchedule(seed: number): WatchSchedule {
  const random = new Random(seed ^ 0x90de)
  const { kind, clients, conditions, actions } = third(random.int(0, 2 ** 31))
  const nodes = random.int(2, 3)
  const moves = Array.from(
    { length: random.int(1, 8) },
    (): WatchAction => ({ at: random.int(0, 5_900), type: 'move', client: random.int(0, clients.length - 1) }),
  )
  // A node does not notice that another client uses the same id on another node.
  const kept = actions.filter(({ type }) => type !== 'takeover')
  const elsewhere = kept.map(
    (action): WatchAction =>
      action.type === 'restart' ? { ...action, node: random.int(0, nodes - 1), keepData: true, clockBack: 0 } : action,
  )
  const all = [...elsewhere, ...moves].sort(byTime)
  const lag = random.pick([0, 5, 60, 400, 2_000])
  return { seed, kind, clients, nodes, conditions: { ...conditions, lag }, actions: all }
}

/** Returns a schedule with a store that is replaced while connections last, with or without its keys. */
export function besideSchedule(seed: number): WatchSchedule {
  const random = new Random(seed ^ 0xbe51de)
  const { kind, clients, conditions, actions } = third(random.int(0, 2 ** 31))
  const failovers = Array.from(
    { length: random.int(1, 5) },
    (): WatchAction => ({
      at: random.int(0, 5_900),
      type: 'failover',
      keepData: random.chance(0.7),
      outage: random.pick([0, 0, 20, 300, 1_500]),
      isAnnounced: random.chance(0.5),
    }),
  )
  const all = [...actions, ...failovers].sort(byTime)
  return { seed, kind, clients, beside: true, conditions, actions: all }
}
