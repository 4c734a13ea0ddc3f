import { simulateSuite } from '../../../simulation/simulate-suite.js'

simulateSuite('broker', 'the broker keeps the guarantees of its sessions')
