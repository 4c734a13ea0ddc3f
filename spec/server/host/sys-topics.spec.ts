import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { firstOf } from '../../../src/server/index.js'
import { as, backwards } from '../../support/backwards.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'

const NOT_AUTHORIZED = 0x87

/** Connects a client that subscribes to a filter, and waits until it has the retained message of a topic. */
async function retainedAt(client: StoreClient, filter: string, topic: string): Promise<string | undefined> {
  await client.subscribe(filter)
  await client.settled()
  return client.inbox.find(message => message.topic === topic)?.text
}

describe('The $SYS topics of a store', () => {
  it('are available by default, with the version of the package', async () => {
    const { store } = await openStore()
    const client = await StoreClient.ready(store.url, 'a')
    expect(await retainedAt(client, '$SYS/#', '$SYS/broker/version')).toBe(`rx-statestore version ${manifest.version}`)
    expect(Number(client.inbox.find(({ topic }) => topic === '$SYS/broker/bytes/received')?.text)).toBeGreaterThan(20)
    expect(Number(client.inbox.find(({ topic }) => topic === '$SYS/broker/messages/received')?.text)).toBeGreaterThan(2)
  })

  it('are published at each interval with the bytes and packets of the connections', async () => {
    const { store } = await openStore({ sysInterval: 20 })
    const client = await connectAsync(store.url, { protocolVersion: 5 })
    onTestFinished(async () => client.endAsync(true))
    const sent = new Promise(resolve => {
      client.on('message', (topic, payload, { retain }) => {
        if (topic === '$SYS/broker/bytes/sent' && !retain) resolve(Number(payload))
      })
    })
    await client.subscribeAsync('$SYS/broker/bytes/+')
    expect(await sent).toBeGreaterThan(20)
  })

  it('no client may publish to the $SYS topics of a store', async () => {
    const { store } = await openStore()
    const client = await StoreClient.ready(store.url, 'a')
    expect(await client.publish('$SYS/broker/version', 'mine', { retain: true })).toBe(NOT_AUTHORIZED)
    expect(await retainedAt(client, '$SYS/broker/version', '$SYS/broker/version')).toContain(manifest.version)
  })

  it('require a right to $SYS if the store has a policy; a right to # is not sufficient', async () => {
    const { store } = await openStore({
      authenticate: firstOf([backwards()]),
      policy: `
- principals: { usernames: [monitor] }
  brokerResources: [{ method: Connect }, { method: Subscribe, topics: ["$SYS/broker/#"] }]
- principals: { usernames: [panel] }
  brokerResources: [{ method: Connect }, { method: Subscribe, topics: ["#", "+/broker/#"] }]`,
    })
    const [monitor, panel] = [
      await StoreClient.ready(store.url, 'a', as('monitor')),
      await StoreClient.ready(store.url, 'b', as('panel')),
    ]
    expect(await retainedAt(monitor, '$SYS/broker/clients/+', '$SYS/broker/clients/total')).toBe('2')
    for (const filter of ['$SYS/#', '$SYS/broker/version', '$share/g/$SYS/broker/#'])
      expect(await panel.subscribe(filter)).toEqual([NOT_AUTHORIZED])
    expect(await panel.subscribe('#')).toEqual([1])
    await panel.settled()
    expect(panel.inbox).toEqual([])
  })

  it('do not exist with an interval of 0', async () => {
    const { store } = await openStore({ sysInterval: 0 })
    const client = await StoreClient.ready(store.url, 'a')
    expect(await client.subscribe('$SYS/#')).toEqual([1])
    await client.settled()
    expect(client.inbox).toEqual([])
  })
})
