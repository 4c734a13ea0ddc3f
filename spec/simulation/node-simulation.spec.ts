import { simulateSuite } from './simulate-suite.js'

simulateSuite('nodes', 'watches that move between nodes keep their guarantees')
