import { Random } from '../../../harness/random.js'
import type { ResumeOrder } from './event-loop.js'
import type { Conditions } from './network.js'

interface Action {
  readonly type: string
}

/** The circumstances and the actions that a generator has drawn for a seed. */
export interface Schedule<A extends Action = Action> {
  readonly seed: number
  readonly actions: readonly A[]
}

/** An action `at` milliseconds after the start. */
export interface TimedAction extends Action {
  readonly at: number
}

/** The schedule of a store and its clients. */
export interface StoreSchedule<A extends TimedAction, P extends ClientPlan = ClientPlan> extends Schedule<A> {
  readonly kind: BrokerKind
  readonly clients: readonly P[]
  readonly conditions: Conditions
  /** The probability that a handler acts before it returns. The default is 0. */
  readonly reentrancy?: number
}

export interface ClientPlan {
  readonly keepSession: boolean
  readonly cleanStart: boolean
  readonly clockOffset: number
  /** The rate of the client's clocks. The default is 1. */
  readonly clockRate?: number
  /** Whether the connection belongs to the caller. */
  readonly shared?: boolean
  /** In milliseconds. */
  readonly stopDelay?: number
}

/** The properties of a broker and its store. */
export interface BrokerKind {
  readonly identifiers: boolean
  /** Whether the store sends the version of a not-found response. */
  readonly positions: boolean
  /**
   * The order that the broker keeps: of all messages of a connection, of responses and notifications separately, or per
   * topic. With `key`, its store orders responses only per key.
   */
  readonly order: 'connection' | 'kind' | 'topic' | 'key'
}

export interface Restart {
  /** The restarted node. The default is the only node. */
  readonly node?: number
  readonly keepData: boolean
  readonly keepSessions: boolean
  /** The clients whose sessions are lost although the sessions of other clients are kept, one bit per client. */
  readonly forgotten?: number
  /** The time in milliseconds until the store is available again. */
  readonly outage: number
  /**
   * How far the store's wall clock was set back before the restart, in milliseconds. Negative values set it forward.
   */
  readonly clockBack?: number
}

/** What happens to a client and its machine. */
export type WorldAction = { readonly at: number; readonly client: number } & (
  | /** The tab of the page is hidden, and its timers run only at multiples of an interval, in milliseconds. */
  { readonly type: 'hide'; readonly time: number; readonly interval: number }
  /** The wall clock is moved. */
  | { readonly type: 'step'; readonly by: number }
  /** There is no network. */
  | { readonly type: 'away'; readonly time: number }
)

const WORLD_ACTIONS = ['hide', 'step', 'away']
export const isWorldAction = (action: TimedAction): action is WorldAction => WORLD_ACTIONS.includes(action.type)

/** An action at one page, or at the broker. */
export type PageAction =
  | WorldAction
  | ({ readonly at: number } /** The page is closed, and another page opens after a pause. */ & (
      | { readonly type: 'reload'; readonly client: number; readonly pause: number }
      | { readonly type: 'cut'; readonly client: number }
      | { readonly type: 'freeze'; readonly client: number; readonly time: number; readonly first: ResumeOrder }
      | ({ readonly type: 'restart' } & Restart)
    ))

export const FAULTY_MS = 6_000

export const kindOf = (random: Random): BrokerKind => ({
  identifiers: random.chance(0.5),
  positions: random.chance(0.5),
  order: random.pick(['topic', 'kind', 'connection']),
})

/** Returns a generator of action times, which cluster around a few moments because bursts cause races. */
export function burstsOf(random: Random, count: number, until: number): () => number {
  const moments = Array.from({ length: count }, () => random.int(0, until - 1_000))
  return () =>
    random.chance(0.5) ? random.int(0, until) : random.pick([moments[0] ?? 0, ...moments.slice(1)]) + random.int(0, 60)
}

/** Makes handlers act reentrantly in half of the schedules. */
export function withReentrancy<S extends Schedule>(schedule: S): S {
  const random = new Random(schedule.seed ^ 0xca11)
  return random.chance(0.5) ? schedule : { ...schedule, reentrancy: random.pick([0.05, 0.2, 0.5]) }
}

/** The worst steps of a wall clock, in milliseconds. Three steps and an offset stay below the store's limit. */
const MAX_STEP_MS = 10_500

/** Draws throttled timers, steps of wall clocks, and a slow link. */
export function worldsOf(
  { seed, clients, conditions }: Pick<StoreSchedule<TimedAction>, 'seed' | 'clients' | 'conditions'>,
  faultyMs: number,
  canStepBack: (client: number) => boolean,
): { readonly worlds: readonly WorldAction[]; readonly conditions: Conditions } {
  const random = new Random(seed ^ 0x3071d)
  const draw = (): WorldAction => {
    const at = random.int(0, faultyMs)
    const client = random.int(0, clients.length - 1)
    if (random.chance(0.6)) {
      const time = random.pick([500, 3_000, faultyMs])
      return { at, type: 'hide', client, time, interval: random.pick([1_000, 60_000]) }
    }
    return { at, type: 'step', client, by: random.int(canStepBack(client) ? -MAX_STEP_MS : 0, MAX_STEP_MS) }
  }
  const worlds = Array.from({ length: random.pick([0, 1, 3]) }, draw)
  const latency = random.chance(0.1) ? random.int(1_000, 12_000) : conditions.latency
  return { worlds, conditions: { ...conditions, latency } }
}

export const byTime = (a: TimedAction, b: TimedAction): number => a.at - b.at
