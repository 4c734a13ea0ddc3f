import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('pages that write keep their promises', SUITES.optimistic)
