import { simulateSuite } from './simulate-suite.js'

simulateSuite('beside', 'watches of an attached store keep their guarantees')
