import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watches keep their promises', SUITES.watch)
