import { simulateSuite } from './simulate-suite.js'

simulateSuite('glob', 'watched globs keep their guarantees')
