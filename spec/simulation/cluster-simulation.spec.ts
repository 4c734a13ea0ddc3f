import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('nodes that share a log behave as one store', SUITES.cluster)
