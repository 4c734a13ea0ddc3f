import { simulateSuite } from './disasters.js'
import { SUITES } from './suites.js'

simulateSuite('shadows of devices keep their guarantees', SUITES.shadow)
