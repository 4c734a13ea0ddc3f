import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watches keep their guarantees', SUITES.watch)
