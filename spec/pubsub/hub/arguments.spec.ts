import { describe, expect, it } from 'vitest'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const KEY = 'a key of no less than thirty-two bytes'
const argument = expect.objectContaining({ code: 'argument' })
/** What JavaScript may pass. */
const js = (json: string) => JSON.parse(json)

describe('From JavaScript, a wrong argument is told before anything happens', () => {
  it.each(['null', '5', '{"hubs":"chat"}', '{"hubs":5}', '{"hubs":[5]}', '{"host":5}', '{"host":""}', '{"clock":{}}'])(
    'in the options of a server: %s',
    async options => {
      const wrong = options.startsWith('{') ? { authenticate: 'anonymous', port: 0, ...js(options) } : js(options)
      await expect(servePubSub(wrong)).rejects.toThrow(argument)
    },
  )

  it.each(['null', '{"roles":"x"}', '{"groups":"abc"}', '{"roles":[1]}', '{"userId":1}'])(
    'in the options of a token: %s',
    async options => {
      const { hub } = await openHub({ authenticate: { key: KEY } })
      await expect(hub.token(js(options))).rejects.toThrow(argument)
    },
  )

  it('in options of a message', async () => {
    const { hub } = await openHub()
    for (const options of ['null', '{"exclude":"abc"}', '{"exclude":[1]}', '5']) {
      expect(() => hub.sendToAll(1, js(options))).toThrow(argument)
    }
  })

  it('as the reason of a close, which leaves the session alive', async () => {
    const { hub, story } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    expect(() => hub.closeConnection(client.connectionId, js('5'))).toThrow(argument)
    await client.settled()
    expect([story, hub.connections[0]?.attached]).toEqual([['connected anonymous'], true])
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a bigint', { a: 1n }],
    ['too much', 'x'.repeat(16 * 1024 * 1024)],
  ])('as data, also while nobody gets it: %s', async (_, data) => {
    const { hub } = await openHub()
    for (const send of [
      () => hub.sendToAll(data),
      () => hub.sendToGroup('g', data),
      () => hub.sendToUser('u', data),
      () => hub.sendToConnection('c', data),
      () => hub.sendToMember('g', 'c', data),
    ]) {
      expect(send).toThrow(argument)
    }
  })
})
