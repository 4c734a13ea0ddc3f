import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('watches that move between nodes keep their guarantees', SUITES.nodes)
