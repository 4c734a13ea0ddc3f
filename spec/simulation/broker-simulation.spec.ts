import { simulateSuite } from './simulate-suite.js'

simulateSuite('broker', 'the broker keeps the guarantees of its sessions')
