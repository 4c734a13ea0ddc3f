import { disasters } from './disasters.js'
import { SUITES } from './suites.js'

disasters('leases keep their guarantees', SUITES.lease)
