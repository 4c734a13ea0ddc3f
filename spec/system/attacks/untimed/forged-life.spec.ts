import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../../src/client/index.js'
import { attach } from '../../../../src/server/index.js'
import { layLink } from '../../../support/link.js'
import { Mosquitto } from '../../../support/mosquitto.js'
import { openAttached, untilState } from '../../../support/open-attached.js'
import { openClient, record } from '../../../support/open-client.js'
import { StoreClient } from '../../../support/store-client.js'
import { preparedInnocent } from '../support/innocent.js'

const LIFE_TOPIC = 'rx-statestore/v1/life'
const RECONNECT = { initial: 20, max: 200 }

const startInnocent = preparedInnocent()

let url: string
beforeEach(async () => {
  const broker = await Mosquitto.launch()
  url = broker.url
})

describe('a forged announcement of another store, at a broker where every client may publish announcements', () => {
  it.each([
    ['an announcement of an instance', 'forged', false],
    ['a retained announcement of an instance', 'forged', true],
    ['an announcement that the store is unavailable', 'away', true],
  ])('a forged announcement of another store neither ends nor empties the store: %s', async (_, payload, retain) => {
    const store = await openAttached(url)
    const states = record(store.state$)
    const innocent = await startInnocent(url)
    const attacker = await StoreClient.connect(url, 'mallory')
    await attacker.subscribe(LIFE_TOPIC)
    await openClient(url).key('a', text).set('kept')
    for (let i = 0; i < 200; i++) await attacker.publish(LIFE_TOPIC, payload, { qos: 0, retain })
    await innocent.expectEachOnce()
    // The store publishes the last message.
    const { state } = store
    const isRepaired = (): boolean => state.state === 'serving' && attacker.inbox.at(-1)?.text === state.life
    while (!isRepaired()) await attacker.arrived(attacker.inbox.length + 1)
    expect(states.values).toEqual([state])
    expect(await openClient(url).key('a', text).get()).toMatchObject({ value: 'kept' })
    await innocent.expectEachOnce()
    expect(attacker.inbox.filter(message => message.text !== payload).length).toBeLessThan(20)
  })

  it('a forged retained announcement delays a restarted store but does not empty it', async () => {
    const link = await layLink(url)
    const store = await openAttached(link.url)
    const states = record(store.state$)
    const attacker = await StoreClient.connect(url, 'mallory')
    await openClient(url).key('a', text).set('kept')
    link.cut()
    await untilState(store, 'reconnecting')
    await attacker.publish(LIFE_TOPIC, 'forged', { retain: true })
    link.restore()
    await untilState(store, 'serving')
    expect(await openClient(url).key('a', text).get()).toMatchObject({ value: 'kept' })
    expect(states.values.map(({ state }) => state)).not.toContain('standby')
  })
})

describe('two active stores with different client ids', () => {
  it('detect each other by a request, and one of them becomes a standby', async () => {
    const open = async (clientId: string) => {
      const store = await attach(url, { clientId, reconnect: RECONNECT })
      onTestFinished(async () => store.close())
      return { store, states: record(store.state$) }
    }
    const stores = await Promise.all(['one', 'other'].map(open))
    const isSettled = (): boolean => {
      const states = stores.map(({ store }) => store.state.state)
      return states.includes('standby') && states.includes('serving')
    }
    await expect.poll(isSettled).toBe(true)
    await expect.poll(async () => openClient(url).key('a', text).set('v')).toMatchObject({ applied: true })
  })
})
