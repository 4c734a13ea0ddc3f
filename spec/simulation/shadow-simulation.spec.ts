import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('shadows of devices keep their guarantees', SUITES.shadow)
