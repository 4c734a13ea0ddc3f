import { simulateSuite } from './simulate-suite.js'

simulateSuite('watch', 'watches keep their guarantees')
