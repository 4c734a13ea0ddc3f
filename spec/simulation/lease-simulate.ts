import { type LeaseSchedule, leaseScheduleOf } from './lease-schedule.js'
import { type LeaseVerdict, LeaseWorld } from './lease-world.js'
import { describeAction } from './schedule.js'
import { seeded, shrink } from './simulate.js'

/** Runs a schedule of leases. */
export const simulateLeases = (schedule: LeaseSchedule): LeaseVerdict =>
  seeded(schedule.seed, () => new LeaseWorld(schedule).run())

/** What a person needs to understand a failure. */
function report(schedule: LeaseSchedule): string {
  const small = shrink(schedule, candidate => simulateLeases(candidate).violations.length > 0)
  const { silentExpiry, losesData, conditions } = small
  return [
    `seed ${schedule.seed} (replay: SEED=${schedule.seed})`,
    ...small.clients.map((client, i) => `client${i} ${JSON.stringify(client)}`),
    ...small.candidates.map((candidate, i) => `candidate${i} ${JSON.stringify(candidate)}`),
    JSON.stringify({ silentExpiry, losesData, ...conditions }),
    ...small.actions.map(describeAction),
    ...simulateLeases(small).violations,
  ].join('\n')
}

/** Simulates the seeds; the first failure, and what came together. */
export function simulateAllLeases(
  first: number,
  count: number,
): { failure: string | undefined; total: Omit<LeaseVerdict, 'violations'> } {
  let holdings = 0
  const writes: Record<string, number> = {}
  for (let seed = first; seed < first + count; seed++) {
    const schedule = leaseScheduleOf(seed)
    const verdict = simulateLeases(schedule)
    if (verdict.violations.length > 0) return { failure: report(schedule), total: { holdings, writes } }
    holdings += verdict.holdings
    for (const [outcome, times] of Object.entries(verdict.writes)) writes[outcome] = (writes[outcome] ?? 0) + times
  }
  return { failure: undefined, total: { holdings, writes } }
}
