import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('leases keep their guarantees', SUITES.lease)
