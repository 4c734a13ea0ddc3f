import { Random } from '../../../harness/random.js'
import { byTime } from '../../simulation/worlds/schedule.js'
import type { Conditions } from './pipe.js'

/** An action of a client, the application or the network, `at` ms after the start. */
export type Action = { readonly at: number } & (
  | {
      readonly type: 'send'
      readonly client: number
      readonly group: number
      readonly count: number
      readonly how: 'plain' | 'noEcho' | 'atLeastOnce' | 'noAck'
    }
  | { readonly type: 'event' | 'cut' | 'kick' | 'reopen'; readonly client: number }
  | { readonly type: 'join' | 'leave'; readonly client: number; readonly group: number }
  | { readonly type: 'publish'; readonly group: number; readonly count: number }
  | { readonly type: 'tellAll' }
  | { readonly type: 'halfOpen'; readonly client: number; readonly direction: 'up' | 'down' | 'both' }
  | { readonly type: 'stall'; readonly client: number; readonly direction: 'up' | 'down'; readonly duration: number }
  | {
      readonly type: 'freeze'
      readonly client: number
      readonly duration: number
      readonly first: 'timers' | 'messages'
    }
  | { readonly type: 'restart'; readonly outage: number }
)

export interface ClientPlan {
  readonly protocol: 'json' | 'protobuf'
  /** The recovery window of the client's options, in ms. */
  readonly recoveryWindow: number
  readonly keepAlive: number
  readonly connectTimeout: number
  readonly timeout: number
  /** Whether the client runs in a hidden page, whose timers run only every {@link HIDDEN_TIMER_PERIOD_MS}. */
  readonly isHidden?: true
}

/**
 * The probes that the hub answers: pings; only requests, while the hub ignores pings or ends a session because of one;
 * or none.
 */
export type ProbeSupport = 'pongs' | 'acks' | 'acks, no pings' | 'none'

/** The events of a simulation, derived from its seed. */
export interface Schedule {
  readonly seed: number
  readonly clients: readonly ClientPlan[]
  readonly retention: number
  readonly idleTimeout: number
  readonly signs: ProbeSupport
  readonly conditions: Conditions
  readonly actions: readonly Action[]
}

/** The duration of the faults, in ms. */
export const FAULT_PERIOD_MS = 8_000
export const GROUPS = 2
/** A time longer than a simulation. */
export const BEYOND_SIMULATION_MS = 90_000
/** More messages than the hub keeps for a client that sends no acks. */
const FLOOD_MESSAGES = 1_100

/** A time longer than a recovery and shorter than the final phase, in ms. */
const MIN_RECOVERY_WINDOW_MS = 2_000
const OTHER_SIGNS = ['acks', 'acks', 'acks, no pings', 'none'] as const
const WAYS = ['plain', 'plain', 'plain', 'noEcho', 'atLeastOnce', 'noAck'] as const

/** The period of the timers of a hidden page, ms. Longer than the delay that the client takes for computer sleep. */
export const HIDDEN_TIMER_PERIOD_MS = 12_000

export const PUBSUB_GENERATORS = [first, second]

/** Hides a client's page in one of eight schedules. */
function second(seed: number): Schedule {
  const random = new Random(seed ^ 0x41dde)
  const schedule = first(seed)
  if (!random.chance(1 / 8)) return schedule
  const hidden = random.int(0, schedule.clients.length - 1)
  return {
    ...schedule,
    clients: schedule.clients.map((plan, i) => (i === hidden ? { ...plan, isHidden: true } : plan)),
  }
}

function first(seed: number): Schedule {
  const random = new Random(seed)
  const clients = Array.from({ length: random.int(2, 3) }, () => planOf(random))
  const conditions = conditionsOf(random)
  // Races occur in bursts, so that actions cluster around a few moments.
  const moments = Array.from({ length: 3 }, () => random.int(0, FAULT_PERIOD_MS - 1_000))
  const actions = Array.from({ length: random.int(8, 28) }, () => {
    const near = random.pick([moments[0] ?? 0, ...moments.slice(1)]) + random.int(0, 80)
    return actionOf(random, random.chance(0.4) ? random.int(0, FAULT_PERIOD_MS) : near, clients.length)
  })
  const joins = clients.map((_, client): Action => ({ at: 0, type: 'join', client, group: random.int(0, GROUPS - 1) }))
  const [retention, idleTimeout] = [random.pick([300, 2_000, 6_000]), random.pick([3_000, 8_000])]
  const signs = random.chance(0.75) ? 'pongs' : random.pick([...OTHER_SIGNS])
  return {
    seed,
    clients: signs === 'none' ? clients.map(patient) : clients,
    retention: signs === 'none' ? MIN_RECOVERY_WINDOW_MS : retention,
    idleTimeout,
    signs,
    conditions,
    actions: [...joins, ...actions].sort(byTime),
  }
}

const planOf = (random: Random): ClientPlan => ({
  protocol: random.pick(['json', 'protobuf']),
  recoveryWindow: random.pick([400, 3_000, 8_000]),
  keepAlive: random.pick([1_000, 3_000]),
  connectTimeout: random.pick([300, 1_500]),
  timeout: random.pick([300, 2_000, BEYOND_SIMULATION_MS, BEYOND_SIMULATION_MS]),
})

/**
 * Gives a client more time to recover. At a hub that answers no probes, the client recovers after each silence, which
 * takes longer than a retry delay, and it may be closed during the recovery.
 */
const patient = (plan: ClientPlan): ClientPlan => ({ ...plan, recoveryWindow: Math.max(3_000, plan.recoveryWindow) })

function conditionsOf(random: Random): Conditions {
  return {
    latency: random.pick([0, 2, 20, 80]),
    breakage: random.rate(0.5, random.pick([0.01, 0.05])),
    refused: random.rate(0.3, 0.3),
    hanging: random.rate(0.3, 0.2),
    clientNotice: random.pick([0, 20, 400]),
    hubNotice: random.pick([0, 20, 400, 2_500]),
    window: random.pick([1, 4, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]),
    faulty: random.rate(0.5, 0.4),
    thinking: random.pick([0, 30, 400]),
  }
}

function actionOf(random: Random, at: number, clients: number): Action {
  const client = random.int(0, clients - 1)
  const group = random.int(0, GROUPS - 1)
  const dice = random.int(1, 1_000)
  if (dice <= 350) {
    return { at, type: 'send', client, group, count: random.pick([1, 2, 5]), how: random.pick([...WAYS]) }
  }
  if (dice <= 430) return { at, type: 'event', client }
  if (dice <= 510) return { at, type: 'publish', group, count: random.pick([1, 3, 10]) }
  if (dice <= 530) return { at, type: 'tellAll' }
  if (dice <= 620) return { at, type: 'join', client, group }
  if (dice <= 670) return { at, type: 'leave', client, group }
  if (dice <= 830) return { at, type: 'cut', client }
  if (dice <= 890) return { at, type: 'halfOpen', client, direction: random.pick(['up', 'down', 'both']) }
  if (dice <= 930) {
    return { at, type: 'stall', client, direction: random.pick(['up', 'down']), duration: random.int(10, 1_500) }
  }
  if (dice <= 950) {
    return { at, type: 'freeze', client, duration: random.pick([200, 1_500, 12_000]), first: freezer(random) }
  }
  if (dice <= 965) return { at, type: 'kick', client }
  if (dice <= 975) return { at, type: 'reopen', client }
  if (dice <= 979) return { at, type: 'publish', group, count: random.pick([150, FLOOD_MESSAGES]) }
  return { at, type: 'restart', outage: random.int(0, 600) }
}

const freezer = (random: Random): 'timers' | 'messages' => random.pick(['timers', 'messages'])
