import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('pages with optimistic writes keep their guarantees', SUITES.optimistic)
