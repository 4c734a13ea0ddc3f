import type { Rates, StatsSample } from '../../../src/server/console/contract.js'

export interface StatsHistory {
  readonly last: StatsSample | undefined
  readonly requests: readonly number[]
  readonly errors: readonly number[]
  readonly notifications: readonly number[]
}

export const NO_STATS: StatsHistory = { last: undefined, requests: [], errors: [], notifications: [] }

/** Maximum number of samples: two minutes at one per second. */
export const MAX_SAMPLES = 120

/** Adds a sample. Rates, which a connection begins with, replace the samples of earlier connections. */
export function addSample(history: StatsHistory, line: StatsSample | Rates): StatsHistory {
  if (line.type === 'rates') {
    const { requests, errors, notifications } = line
    return { last: history.last, requests, errors, notifications }
  }
  return {
    last: line,
    requests: append(history.requests, line.requests),
    errors: append(history.errors, line.errors),
    notifications: append(history.notifications, line.notifications),
  }
}

const append = (values: readonly number[], value: number): readonly number[] => [
  ...values.slice(1 - MAX_SAMPLES),
  value,
]
