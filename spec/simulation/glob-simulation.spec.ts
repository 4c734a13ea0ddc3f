import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('watched globs keep their guarantees', SUITES.glob)
