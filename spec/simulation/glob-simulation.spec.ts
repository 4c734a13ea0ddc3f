import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('watched globs keep their guarantees', SUITES.glob)
