import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watches of a store beside its broker keep their promises', SUITES.beside)
