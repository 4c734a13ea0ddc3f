import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { attachedSuite, killedBrokerSuite } from '../../suites/attached-suite.js'
import { conformanceSuite } from '../../suites/conformance-suite.js'
import { attachedTarget } from '../../support/attached-target.js'
import { buildHiveMq, HiveMq } from '../../support/hivemq.js'
import { openAttached } from '../../support/open-attached.js'

// Where it takes more than ten seconds to begin again, on a busy machine, answers expire that were under way, and watches are
// back only after the timeout of a request: then the spec of a broker that is killed fails.
const BUILD_TIME = 300_000

// By hand, with `HIVEMQ=1`: it takes a minute, and the first time 100 MB. Specs that hold its findings: `client/connect/resumed-session`, `attach/kept-session`.
describe('beside HiveMQ CE', () => {
  let broker: HiveMq
  beforeAll(async () => {
    await buildHiveMq()
    broker = await HiveMq.start()
  }, BUILD_TIME)
  afterAll(async () => broker.stop())

  conformanceSuite('a store that is attached', 'field', async options => attachedTarget(broker.url, options))

  describe('without sessions of earlier specs', () => {
    // A store that was killed leaves a session behind, in which requests wait; one that ends takes it along.
    beforeEach(async () => {
      await (await openAttached(broker.url)).close()
    })

    attachedSuite('it', () => broker.url)

    killedBrokerSuite('it', async () => ({
      url: broker.url,
      kill: async () => broker.kill(),
      startAgain: async () => broker.startAgain(),
    }))
  })
})
