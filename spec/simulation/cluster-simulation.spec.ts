import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('nodes that share a log behave as one store', SUITES.cluster)
