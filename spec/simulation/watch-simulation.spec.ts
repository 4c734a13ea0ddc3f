import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('watches keep their guarantees', SUITES.watch)
