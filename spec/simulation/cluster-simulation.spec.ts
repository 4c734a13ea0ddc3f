import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('nodes that share a log behave as one store', SUITES.cluster)
