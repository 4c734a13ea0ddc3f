import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('shadows of devices keep their promises', SUITES.shadow, { gate: 4_000, developer: 100 })
