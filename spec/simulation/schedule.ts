import type { Conditions } from './network.js'
import { Random } from './random.js'

/** What a client does with a key, `at` ms after the start. */
export type KeyAction = { readonly at: number; readonly client: number; readonly key: number } & (
  | { readonly type: 'set'; readonly how: 'plain' | 'NX' | 'NEX' | 'PX' }
  | { readonly type: 'delete' | 'deleteIf' | 'watch' | 'unwatch' }
)

/** Something that happens in the world, `at` ms after the start. */
export type Action =
  | KeyAction
  | { readonly at: number; readonly type: 'cut'; readonly client: number }
  | { readonly at: number; readonly type: 'takeover'; readonly client: number }
  | {
      readonly at: number
      readonly type: 'restart'
      readonly keepData: boolean
      readonly keepSessions: boolean
      /** ms until the store is back. */
      readonly outage: number
    }

export interface ClientPlan {
  readonly keepSession: boolean
  readonly cleanStart: boolean
  /** How wrong its wall clock is, ms. */
  readonly clockOffset: number
}

/** Everything that happens in a simulation, given by its seed. */
export interface Schedule {
  readonly seed: number
  readonly clients: readonly ClientPlan[]
  readonly conditions: Conditions
  readonly actions: readonly Action[]
}

/** ms in which things go wrong; after that the world behaves. */
export const TROUBLE = 6_000
export const KEYS = 2

/** The schedule of a seed. */
export function scheduleOf(seed: number): Schedule {
  const random = new Random(seed)
  const clients = Array.from({ length: random.int(2, 3) }, () => ({
    keepSession: random.chance(0.6),
    cleanStart: random.chance(0.15),
    clockOffset: random.chance(0.5) ? 0 : random.int(-59_000, 59_000),
  }))
  const bad = (probability: number, of: number): number => (random.chance(probability) ? of : 0)
  const conditions: Conditions = {
    latency: random.pick([0, 2, 20, 60]),
    brokerDelay: random.pick([0, 0, 5, 40]),
    queueDelay: random.pick([0, 10, 300]),
    lostReply: bad(0.3, 0.1),
    lateReply: bad(0.3, 0.1),
    duplicate: bad(0.4, 0.2),
    notice: random.pick([1, 100, 1_500]),
  }
  // A burst is where races live: actions crowd around a few moments.
  const moments = Array.from({ length: 4 }, () => random.int(0, TROUBLE - 1_000))
  const actions = Array.from({ length: random.int(8, 24) }, () => {
    const at = random.chance(0.5)
      ? random.int(0, TROUBLE)
      : random.pick([moments[0] ?? 0, ...moments.slice(1)]) + random.int(0, 60)
    return actionOf(random, at, clients.length)
  })
  const watches = clients.map((_, client): Action => ({ at: 0, type: 'watch', client, key: random.int(0, KEYS - 1) }))
  return { seed, clients, conditions, actions: [...watches, ...actions].sort((a, b) => a.at - b.at) }
}

function actionOf(random: Random, at: number, clients: number): Action {
  const client = random.int(0, clients - 1)
  const key = random.int(0, KEYS - 1)
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

/** An action in a few words. */
export const describeAction = ({ at, type, ...rest }: { readonly at: number; readonly type: string }): string =>
  `${String(at).padStart(5)} ms  ${type.padEnd(8)} ${Object.entries(rest)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`
