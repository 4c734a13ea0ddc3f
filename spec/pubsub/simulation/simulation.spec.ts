import { simulateSuite } from '../../simulation/simulate-suite.js'

simulateSuite('pubsub', 'the pub/sub client and hub keep their guarantees')
