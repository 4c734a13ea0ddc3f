import { afterAll, beforeAll, describe } from 'vitest'
import { attachedTarget } from '../../suites/attached-target.js'
import { conformanceSuite } from '../../suites/conformance-suite.js'
import { Mosquitto } from '../../support/mosquitto.js'

describe('through Mosquitto', () => {
  let broker: Mosquitto
  beforeAll(async () => {
    broker = await Mosquitto.start()
  })
  afterAll(async () => broker.stop())

  conformanceSuite('a store that is attached', 'field', async options => attachedTarget(broker.url, options))
})
