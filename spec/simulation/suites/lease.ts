import { leaseScheduleOf } from '../lease-schedule.js'
import { simulateLeases } from '../lease-simulate.js'
import { suiteOf } from '../suite.js'

export const suite = suiteOf(leaseScheduleOf, simulateLeases)
