import type { IPublishPacket, Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { bytes } from '../../../../src/client/keys/codec.js'
import { AttachedProcess } from '../../../support/attached-process.js'
import { eventually } from '../../../support/eventually.js'
import { accessRules, Mosquitto } from '../../../support/mosquitto.js'
import { openAttached } from '../../../support/open-attached.js'
import { openClient, record } from '../../../support/open-client.js'
import { StoreClient } from '../../../support/store-client.js'
import { notificationTopicOf, responseTopicOf } from '../../../support/topics.js'
import { command } from '../../../support/words.js'
import { preparedInnocent } from '../support/innocent.js'
import { openRejectingLink } from '../support/objecting-link.js'

/** Returns a topic of many levels. Mosquitto closes a connection that publishes to 202 levels. */
const deepTopic = (levels: number): string =>
  `clients/mallory/services/statestore/${Array.from({ length: levels - 4 }, () => 'a').join('/')}`

const startInnocent = preparedInnocent()

const openMosquitto = async (): Promise<Mosquitto> => Mosquitto.launch({ acl: accessRules('innocent') })

const mallory = async (url: string): Promise<StoreClient> =>
  StoreClient.connect(url, 'mallory', { username: 'mallory' })

describe('a request with a response topic that Mosquitto rejects', () => {
  it('does not affect the store and is recorded in the audit log', async () => {
    const { url } = await openMosquitto()
    const store = await openAttached(url, { username: 'store' })
    const states = record(store.state$)
    const refused = record(store.audit$)
    const innocent = await startInnocent(url)
    const attacker = await mallory(url)
    for (let i = 0; i < 200; i++) await attacker.sendRequest(command('GET a'), { responseTopic: deepTopic(205) })
    await innocent.expectEachOnce()
    expect(states.values.map(({ state }) => state)).toEqual(['serving'])
    expect(refused.values[0]).toMatchObject({ event: 'refused', action: 'publish', clientId: 'mallory' })
  })

  it('does not end the next store, which receives the request after a crash', async () => {
    const { url } = await openMosquitto()
    const address = url.replace('//', '//store@')
    const first = new AttachedProcess(address)
    await first.until('serving')
    await first.end('SIGKILL')
    await (await mallory(url)).sendRequest(command('GET a'), { responseTopic: deepTopic(205) })
    const second = new AttachedProcess(address)
    await second.until('serving')
    const innocent = await startInnocent(url)
    await innocent.expectEachOnce()
    await second.until('serving')
  })
})

/** Opens a proxy to a broker that ends a store's connection on certain messages. */
async function openHostileLink(isPoison: (packet: IPublishPacket) => boolean, reasonCode?: number) {
  const broker = await Mosquitto.launch()
  return { broker, link: await openRejectingLink(broker.port, isPoison, reasonCode) }
}

const isAnswerToMallory = (packet: Packet): boolean =>
  packet.cmd === 'publish' && packet.topic === responseTopicOf('mallory')

describe.each([
  ['with a reason code', 149],
  ['without a reason code', undefined],
])('a broker that ends the connection on a response, %s,', (_, reasonCode) => {
  it('a store whose broker closes on one response loses only that of a hundred', async () => {
    const { broker, link } = await openHostileLink(isAnswerToMallory, reasonCode)
    const store = await openAttached(link.url)
    const faults = record(store.faults$)
    const innocent = await startInnocent(broker.url)
    const attacker = await StoreClient.ready(broker.url, 'mallory')
    const client = openClient(broker.url)
    const writes = Array.from({ length: 100 }, async (_, i) => client.key(`k${i}`, bytes).set(new Uint8Array([i])))
    await attacker.sendRequest(command('GET a'))
    await eventually(() => faults.values.length > 0)
    await Promise.all(writes)
    await innocent.expectNothingLost()
    expect(store.state.state).toBe('serving')
    expect(store.stats.keys).toBe(101)
    expect(String(faults.values[0]?.error)).toContain(`response to ${responseTopicOf('mallory')}, which was dropped`)
    // The request is acknowledged, so the connection stays open.
    const { connections } = link
    await innocent.expectEachOnce()
    expect(link.connections).toBe(connections)
  })

  it('a response on which the broker closes does not end the store that follows a crash', async () => {
    const { broker, link } = await openHostileLink(isAnswerToMallory, reasonCode)
    const first = new AttachedProcess(broker.url)
    await first.until('serving')
    await first.end('SIGKILL')
    await (await StoreClient.ready(broker.url, 'mallory')).sendRequest(command('GET a'))
    const second = new AttachedProcess(link.url)
    await second.until('serving')
    await eventually(() => link.convictions >= (reasonCode === undefined ? 3 : 1))
    await second.until('serving')
    const innocent = await startInnocent(broker.url)
    const { connections } = link
    await innocent.expectEachOnce()
    expect(link.connections).toBe(connections)
  })
})

describe('a broker that ends the connection on a notification', () => {
  it('a store whose broker closes the connection on a notification loses only that notification', async () => {
    const isNotificationOfMallory = ({ topic }: IPublishPacket) => topic === notificationTopicOf('mallory', 'a')
    const { broker, link } = await openHostileLink(isNotificationOfMallory, 144)
    const store = await openAttached(link.url)
    const faults = record(store.faults$)
    const innocent = await startInnocent(broker.url)
    const attacker = await StoreClient.ready(broker.url, 'mallory')
    await attacker.request(command('KEYNOTIFY a'))
    await attacker.request(command('SET a b'), { timestamp: `${Date.now()}:0:C` })
    await eventually(() => faults.values.length > 0)
    await innocent.expectNothingLost()
    const { connections } = link
    await attacker.request(command('SET a c'), { timestamp: `${Date.now()}:1:C` })
    await innocent.expectEachOnce()
    expect([link.connections, store.state.state]).toEqual([connections, 'serving'])
  })
})
