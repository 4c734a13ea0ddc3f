import { simulateSuite } from './simulate-suite.js'

simulateSuite('wake', 'connections are dropped after sleep only if they are dead')
