import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('watches that move between nodes keep their guarantees', SUITES.nodes)
