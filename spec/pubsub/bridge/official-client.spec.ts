import { WebPubSubClient, WebPubSubJsonReliableProtocol } from '@azure/web-pubsub-client'
import { firstValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { json } from '../../../src/client/index.js'
import { eventually } from '../../support/eventually.js'
import { openBridge, summarize } from './support/open-bridge.js'

it('the official client reads and writes keys through the bridge', { tags: 'slow' }, async () => {
  const { plant, hub } = await openBridge()
  await firstValueFrom(plant.set('a', 1, json()))
  const client = new WebPubSubClient(`${hub.url}?user=ann`, { protocol: WebPubSubJsonReliableProtocol() })
  onTestFinished(() => client.stop())
  const received: string[] = []
  client.on('group-message', ({ message }) => received.push(summarize(message.data)))
  await client.start()
  await client.joinGroup('key:a')
  await eventually(() => received.includes('is live'))
  await client.sendEvent('key:set', { key: 'a', value: 2 }, 'json')
  await eventually(() => received.length === 3)
  expect(received).toEqual(['set 1 (snapshot)', 'is live', 'set 2 (notification)'])
  const refused = client.sendEvent('key:set', { key: '' }, 'json')
  await expect(refused).rejects.toMatchObject({ errorDetail: { name: 'argument' } })
})
