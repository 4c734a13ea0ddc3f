import { simulateSuite } from './simulate-suite.js'
import { SUITES } from './suites.js'

simulateSuite('watches of an attached store keep their guarantees', SUITES.beside)
