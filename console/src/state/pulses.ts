import type { StatsSample } from '../../../src/server/console/contract.js'

/** The last pulses of the store, the newest at the end. */
export interface StatsHistory {
  readonly last: StatsSample | undefined
  readonly requests: readonly number[]
  readonly errors: readonly number[]
  readonly notifications: readonly number[]
}

/** None yet. */
export const NO_PULSES: StatsHistory = { last: undefined, requests: [], errors: [], notifications: [] }

/** So many are remembered: two minutes. */
export const MOST_PULSES = 120

/** With one more. */
export const withPulse = ({ requests, errors, notifications }: StatsHistory, pulse: StatsSample): StatsHistory => ({
  last: pulse,
  requests: grown(requests, pulse.requests),
  errors: grown(errors, pulse.errors),
  notifications: grown(notifications, pulse.notifications),
})

const grown = (values: readonly number[], value: number): readonly number[] => [...values.slice(1 - MOST_PULSES), value]
