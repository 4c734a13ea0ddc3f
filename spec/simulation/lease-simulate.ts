import type { LeaseSchedule } from './lease-schedule.js'
import { type LeaseVerdict, LeaseWorld } from './lease-world.js'
import { seeded } from './simulate.js'

export const simulateLeases = (schedule: LeaseSchedule): LeaseVerdict =>
  seeded(schedule.seed, () => new LeaseWorld(schedule).run())
