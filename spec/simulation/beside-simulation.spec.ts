import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watches of an attached store keep their guarantees', SUITES.beside)
