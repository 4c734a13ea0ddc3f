import { disasters } from '../../../simulation/disasters.js'
import { SUITES } from '../../../simulation/suites.js'

// The other half, for the other core.
disasters('the broker keeps the promises of its sessions', SUITES.broker, { gate: 10_000, developer: 100 })
