import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('leases keep their guarantees', SUITES.lease)
