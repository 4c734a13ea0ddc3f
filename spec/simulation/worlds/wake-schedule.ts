import { Random } from '../../../harness/random.js'
import { byTime, type Schedule, type TimedAction } from './schedule.js'

/** What happens to a machine and to its link. */
export type WakeAction = { readonly at: number } & (
  | { readonly type: 'data' | 'death' }
  | { readonly type: 'step'; readonly by: number }
  /** The machine sleeps: nothing runs, and the wall clock advances by more than the monotonic one. */
  | { readonly type: 'sleep'; readonly time: number }
  | { readonly type: 'hide'; readonly time: number; readonly interval: number }
)

export interface WakeSchedule extends Schedule<WakeAction & TimedAction> {
  readonly connectTimeoutMs: number
  /** The time that a packet takes in each direction, in milliseconds. */
  readonly delayMs: number
}

export const WAKE_FAULTY_MS = 300_000

export const WAKE_GENERATORS = [first]

function first(seed: number): WakeSchedule {
  const random = new Random(seed ^ 0x3a4e)
  const actions = Array.from({ length: random.int(2, 20) }, () => actionOf(random, random.int(0, WAKE_FAULTY_MS)))
  return {
    seed,
    connectTimeoutMs: random.pick([5_000, 30_000, 60_000]),
    delayMs: random.pick([1, 500, 1_000, 3_000, 6_000, 12_000]),
    actions: actions.sort(byTime),
  }
}

function actionOf(random: Random, at: number): WakeAction {
  const dice = random.int(1, 100)
  if (dice <= 50) return { at, type: 'data' }
  if (dice <= 55) return { at, type: 'death' }
  if (dice <= 75) return { at, type: 'step', by: random.int(-60_000, 60_000) }
  if (dice <= 90) return { at, type: 'sleep', time: random.int(1_000, 60_000) }
  return { at, type: 'hide', time: random.int(1_000, 120_000), interval: random.pick([1_000, 60_000]) }
}
