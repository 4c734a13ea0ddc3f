import { simulateSuite } from './simulate-suite.js'

simulateSuite('lease', 'leases keep their guarantees')
