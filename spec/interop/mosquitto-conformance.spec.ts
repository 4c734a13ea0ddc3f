import { afterAll, beforeAll, describe } from 'vitest'
import { conformanceSuite } from '../suites/conformance-suite.js'
import { attachedTarget } from '../support/attached-target.js'
import { Mosquitto } from '../support/mosquitto.js'
import { SERVICES } from '../support/services.js'

describe.skipIf(!SERVICES.mosquitto.present)('through Mosquitto', () => {
  let broker: Mosquitto
  beforeAll(async () => {
    broker = await Mosquitto.start()
  })
  afterAll(async () => broker.stop())

  conformanceSuite('a store that is attached', 'field', async options => attachedTarget(broker.url, options))
})
