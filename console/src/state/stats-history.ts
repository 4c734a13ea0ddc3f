import type { StatsSample } from '../../../src/server/console/contract.js'

export interface StatsHistory {
  readonly last: StatsSample | undefined
  readonly requests: readonly number[]
  readonly errors: readonly number[]
  readonly notifications: readonly number[]
}

export const NO_STATS: StatsHistory = { last: undefined, requests: [], errors: [], notifications: [] }

/** Maximum number of samples: two minutes at one per second. */
export const MAX_SAMPLES = 120

export const addSample = ({ requests, errors, notifications }: StatsHistory, sample: StatsSample): StatsHistory => ({
  last: sample,
  requests: append(requests, sample.requests),
  errors: append(errors, sample.errors),
  notifications: append(notifications, sample.notifications),
})

const append = (values: readonly number[], value: number): readonly number[] => [
  ...values.slice(1 - MAX_SAMPLES),
  value,
]
