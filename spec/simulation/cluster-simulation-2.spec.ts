import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

// In two files, for two cores.
disasters('nodes that share a log are one store', SUITES.cluster, { gate: 10_000, developer: 100 })
