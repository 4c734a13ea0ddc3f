import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('pages with optimistic writes keep their guarantees', SUITES.optimistic)
