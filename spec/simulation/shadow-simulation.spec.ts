import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('shadows of devices keep their guarantees', SUITES.shadow)
