import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('shadows of devices keep their promises', SUITES.shadow)
