import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('pages with optimistic writes keep their guarantees', SUITES.optimistic)
