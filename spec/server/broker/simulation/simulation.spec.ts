import { describe, expect, it } from 'vitest'
import { disasters } from '../../../simulation/disasters.js'
import { SUITES } from '../../../simulation/suites.js'
import { simulateAll } from './simulate.js'

/** Seeds at which the broker, or its oracle, once failed. */
const REGRESSIONS: Record<string, number> = {
  'a clean start while a shared message is unacknowledged': 984_008_557,
  'a session that expires while a shared message is unacknowledged': 189_676_712,
  'a message that is refused, and taken on when it comes again': 588_906_939,
  'a message that is taken on, and refused when it comes again': 626_243_180,
  'a client that is too slow again and again': 886_348_970,
  'a refusal that is lost with the connection': 298_765_033,
  'a connection that ends in the turn in which it was too small': 126_984_596,
  'a client that is silent because it is not read': 505,
  'retained messages that find room on the next connection': 296_607_808,
  'what is given up as too large while what came after it is sent again': 296_629_470,
  'a new message with the packet id of a refused one': 296_640_740,
  'the largest of some retained messages, given up before the others are sent': 296_671_963,
  'a large retained message that a later connection would take': 296_780_151,
  'a retained message for the second of two subscriptions, when the first had to do without': 2_606_340_529,
  'a retained message that is taken on twice, when the first had to do without': 4_008_260_353,
  'a last will for the message that was too much for its client': 138_697_045,
  'a message that arrived, was given up as too large for the next connection, and is asked for again': 3_191_966_410,
}

disasters('the broker keeps the promises of its sessions', SUITES.broker)

describe('The broker keeps the guarantees of its sessions', () => {
  it.each(Object.entries(REGRESSIONS))('with %s', (_, seed) => {
    expect(simulateAll([seed]).failure).toBeUndefined()
  })
})
