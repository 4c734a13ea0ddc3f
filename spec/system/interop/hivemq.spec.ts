import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { attachedSuite, killedBrokerSuite } from '../../suites/attached-suite.js'
import { attachedTarget } from '../../suites/attached-target.js'
import { conformanceSuite } from '../../suites/conformance-suite.js'
import { buildHiveMq, HiveMq } from '../../support/hivemq.js'
import { openAttached } from '../../support/open-attached.js'

// On a busy machine, a restart can take more than ten seconds. The responses in flight then expire, watches return only
// after a request's timeout, and the spec of a killed broker fails.
const BUILD_TIME = 300_000

// These specs run by hand with `HIVEMQ=1`, because they take a minute and download 100 MB the first time. The specs
// that hold the findings are `client/connect/resumed-session` and `attach/kept-session`.
describe('a store attached to HiveMQ CE', () => {
  let broker: HiveMq
  beforeAll(async () => {
    await buildHiveMq()
    broker = await HiveMq.start()
  }, BUILD_TIME)
  afterAll(async () => broker.stop())

  conformanceSuite('a store that is attached', 'field', async options => attachedTarget(broker.url, options))

  describe('without sessions of earlier specs', () => {
    // A killed store leaves a session behind in which requests wait. A store that ends normally removes its session.
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
