import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('watches keep their guarantees', SUITES.watch)
