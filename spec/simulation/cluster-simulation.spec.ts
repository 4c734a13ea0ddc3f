import { simulateSuite } from './simulate-suite.js'

simulateSuite('cluster', 'nodes that share a log behave as one store')
