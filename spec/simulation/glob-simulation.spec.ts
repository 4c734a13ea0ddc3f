import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watched globs keep their guarantees', SUITES.glob)
