import { simulateSuite } from './simulate-suite.js'

simulateSuite('optimistic', 'pages with optimistic writes keep their guarantees')
