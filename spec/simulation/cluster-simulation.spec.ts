import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('nodes that share a log are one store', SUITES.cluster)
