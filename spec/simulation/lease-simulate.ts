import type { LeaseSchedule } from './lease-schedule.js'
import { type LeaseResult, LeaseWorld } from './lease-world.js'
import { seeded } from './simulate.js'

export const simulateLeases = (schedule: LeaseSchedule): LeaseResult =>
  seeded(schedule.seed, () => new LeaseWorld(schedule).run())
