import { simulateSuite } from './simulate-suite.js'

simulateSuite('pubsub', 'the pub/sub client and hub keep their guarantees')
