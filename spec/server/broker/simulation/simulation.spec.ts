import { describe, expect, it } from 'vitest'
import { simulateSuite } from '../../../simulation/simulate-suite.js'
import { SUITES } from '../../../simulation/suites.js'
import { simulateAll } from './simulate.js'

/** Seeds at which the broker or its oracle once failed. */
const REGRESSIONS: Record<string, number> = {
  'a clean start while a shared message is unacknowledged': 984_008_557,
  'a session that expires while a shared message is unacknowledged': 189_676_712,
  'a message that is rejected and accepted on retransmission': 588_906_939,
  'a message that is accepted and rejected on retransmission': 626_243_180,
  'a client that is repeatedly too slow': 886_348_970,
  'a rejection that is lost with the connection': 298_765_033,
  'a connection that ends in the turn in which a message exceeds its limits': 126_984_596,
  'a client that appears silent because it is not read': 505,
  'retained messages that fit on the next connection': 296_607_808,
  'a message discarded as too large while later ones are retransmitted': 296_629_470,
  'a new message with the packet id of a rejected one': 296_640_740,
  'the largest of several retained messages, discarded before the others are sent': 296_671_963,
  'a large retained message that a later connection would accept': 296_780_151,
  'a retained message for the second of two subscriptions after it was dropped for the first': 2_606_340_529,
  'a retained message that is accepted twice after it was dropped once': 4_008_260_353,
  'a will of a client that a message overflows': 138_697_045,
  'a received message that is discarded as too large for the next connection and requested again': 3_191_966_410,
}

simulateSuite('the broker keeps the guarantees of its sessions', SUITES.broker)

describe('The broker keeps the guarantees of its sessions in the simulation', () => {
  it.each(Object.entries(REGRESSIONS))('with %s', (_, seed) => {
    expect(simulateAll([seed]).failure).toBeUndefined()
  })
})
