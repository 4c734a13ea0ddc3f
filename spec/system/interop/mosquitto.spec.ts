import { beforeEach, describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { attachedSuite, killedBrokerSuite } from '../../suites/attached-suite.js'
import { accessRules, Mosquitto } from '../../support/mosquitto.js'
import { openAttached } from '../../support/open-attached.js'
import { openClient, record } from '../../support/open-client.js'
import { StoreClient } from '../../support/store-client.js'
import { notificationTopicOf, responseTopicOf } from '../../support/topics.js'

const LIFE_TOPIC = 'rx-statestore/v1/life'

describe('a store attached to Mosquitto', () => {
  let broker: Mosquitto
  // A killed store leaves a session behind in which requests wait.
  beforeEach(async () => {
    broker = await Mosquitto.launch()
  })

  attachedSuite('it', () => broker.url, ['clients/+/services/statestore/x'])

  killedBrokerSuite('it', async () => {
    const { url, port } = broker
    return {
      url,
      kill: async () => broker.stop('SIGKILL'),
      startAgain: async () => {
        broker = await Mosquitto.launch({ port })
      },
    }
  })
})

describe('the access rules in docs/any-broker.md, at Mosquitto', () => {
  it('the access rules permit what clients need, and deny them responses of others', async () => {
    const broker = await Mosquitto.launch({ acl: accessRules('panel-7') })
    await openAttached(broker.url, { username: 'store' })
    const client = openClient(broker.url, { clientId: 'panel-7', username: 'panel-7' })
    const seen = record(client.key('a', text).entries$)
    await client.key('a', text).set('v')
    await seen.until(({ values }) => values.at(-1)?.value === 'v')
    const mallory = await StoreClient.connect(broker.url, 'mallory', { username: 'mallory' })
    await mallory.subscribe(responseTopicOf('panel-7'))
    await mallory.subscribe(notificationTopicOf('panel-7'))
    await mallory.subscribe('#')
    await mallory.publish(notificationTopicOf('panel-7', 'a'), 'forged')
    await client.key('a', text).set('w')
    await seen.until(({ values }) => values.at(-1)?.value === 'w')
    expect(mallory.inbox.filter(({ topic }) => topic !== LIFE_TOPIC)).toEqual([])
    expect(seen.values.map(({ op }) => op)).not.toContain('invalid')
  })
})
