import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

// In two files, for two cores.
disasters('watches keep their promises', SUITES.watch, { gate: 10_000, developer: 100 })
