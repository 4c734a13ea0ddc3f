import { simulateSuite } from './simulate-suite.js'

simulateSuite('shadow', 'shadows of devices keep their guarantees')
