import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

// In two files, for two cores.
disasters('leases keep their promises', SUITES.lease, { gate: 10_000, developer: 100 })
