import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('watches that move between nodes keep their guarantees', SUITES.nodes)
