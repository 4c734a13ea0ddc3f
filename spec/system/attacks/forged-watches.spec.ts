import { setTimeout } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { type Clock, systemClock } from '../../../src/core/util/clock.js'
import { nightly } from '../../support/effort.js'
import { eventually } from '../../support/eventually.js'
import { accessRules, Mosquitto } from '../../support/mosquitto.js'
import { openAttached } from '../../support/open-attached.js'
import { openClient, record } from '../../support/open-client.js'
import { StoreClient } from '../../support/store-client.js'
import { RESERVED, responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'
import { preparedInnocent } from './support/innocent.js'

const MAX_WATCHES = 100

const FORGED_REQUESTS = nightly(20_000, 5_000)
const MAX_WATCHERS_OF_KEY = 1_000

const startInnocent = preparedInnocent()

let url: string
beforeEach(async () => {
  const broker = await Mosquitto.launch()
  url = broker.url
})

/** Opens a store with a clock that can be advanced. */
async function openStore() {
  let advancedMs = 0
  const clock: Clock = { ...systemClock, monotonic: () => performance.now() + advancedMs }
  const store = await openAttached(url, { clock, maxWatches: MAX_WATCHES })
  return {
    store,
    pass: (ms: number): void => {
      advancedMs += ms
    },
  }
}

describe('watches in the names of clients that do not exist', () => {
  it('forged watches end immediately and leave the limit of watches to other clients', async () => {
    const { store } = await openStore()
    const innocent = await startInnocent(url)
    await innocent.measureQuiet()
    const attacker = await StoreClient.connect(url, 'mallory')
    for (let i = 0; i < 3 * MAX_WATCHES; i++)
      await attacker.sendRequest(command(`KEYNOTIFY k${i}`), { responseTopic: responseTopicOf(`forged-${i % 7}`) })
    await eventually(() => store.stats.watches === 1)
    const entries = record(openClient(url).key('a', text).entries$)
    await entries.until(({ values }) => values.length > 0)
    await innocent.expectUnharmed()
  })

  it('forged watches do not end the watches of the client whose name they use', async () => {
    const { store } = await openStore()
    const client = openClient(url, { clientId: 'panel-7' })
    const entries = record(client.key('a', text).entries$)
    await entries.until(({ values }) => values.length > 0)
    const attacker = await StoreClient.connect(url, 'mallory')
    const responseTopic = 'clients/panel-7/services/statestore/elsewhere'
    for (let i = 0; i < 20; i++) await attacker.sendRequest(command(`KEYNOTIFY k${i}`), { responseTopic })
    await openClient(url).key('a', text).set('v')
    await entries.until(({ values }) => values.at(-1)?.value === 'v')
    expect(store.stats.watches).toBe(21)
  })

  it('at the limit, forged watches of disconnected clients end, not those of silent ones', async () => {
    const { store, pass } = await openStore()
    const silent = await StoreClient.ready(url, 'silent')
    await silent.request(command('KEYNOTIFY a'))
    for (let i = 0; i < 3; i++) {
      const client = await StoreClient.ready(url, `leaving-${i}`)
      for (let j = 0; j < MAX_WATCHES / 4; j++) await client.request(command(`KEYNOTIFY k${j}`))
      await client.disconnect()
    }
    expect(store.stats.watches).toBe((3 * MAX_WATCHES) / 4 + 1)
    pass(60_000)
    await eventually(() => store.stats.watches === 1)
    await openClient(url).key('a', text).set('v')
    await eventually(() => silent.inbox.some(message => message.text.includes('NOTIFY')))
  })
})

describe('watches in invented names, with subscriptions that the ACL of Mosquitto denies', () => {
  it('forged watches without subscriptions are limited per key and do not delay its writes', {
    timeout: 120_000,
  }, async () => {
    const broker = await Mosquitto.launch({ acl: accessRules('innocent') })
    const store = await openAttached(broker.url, { username: 'store' })
    const innocent = await startInnocent(broker.url)
    await innocent.measureQuiet()
    const watches = store.stats.watches
    const attacker = await StoreClient.connect(broker.url, 'mallory', { username: 'mallory' })
    for (const filter of ['clients/+/services/statestore/r', `${RESERVED}/+/command/notify/+`])
      await attacker.subscribe(filter)
    for (let i = 0; i < FORGED_REQUESTS; i++)
      await attacker.sendRequest(command('KEYNOTIFY big'), { responseTopic: `clients/m${i}/services/statestore/r` })
    await eventually(() => store.stats.requests >= FORGED_REQUESTS)
    expect(store.stats.watches - watches).toBe(MAX_WATCHERS_OF_KEY)
    const before = store.stats.notifications
    const write = async (): Promise<void> => {
      await attacker.sendRequest(command('SET big x'), { responseTopic: 'clients/m0/services/statestore/r' })
    }
    let isOver = false
    const writing = (async () => {
      while (!isOver) {
        await write()
        await setTimeout(200)
      }
    })()
    await eventually(() => store.stats.notifications > before + MAX_WATCHERS_OF_KEY)
    await innocent.expectUnharmed()
    isOver = true
    await writing
  })
})
