import { describe, expect, it } from 'vitest'
import { servePubSub } from '../../../src/pubsub/hub/index.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const KEY = 'a key of no less than thirty-two bytes'
const argument = expect.objectContaining({ code: 'argument' })
/** Parses JSON as an argument that untyped callers may pass. */
const js = (json: string) => JSON.parse(json)

describe('invalid arguments of untyped callers', () => {
  it.each(['null', '5', '{"hubs":"chat"}', '{"hubs":5}', '{"hubs":[5]}', '{"host":5}', '{"host":""}', '{"clock":{}}'])(
    'servePubSub rejects the options %s',
    async options => {
      const wrong = options.startsWith('{') ? { authenticate: 'anonymous', port: 0, ...js(options) } : js(options)
      await expect(servePubSub(wrong)).rejects.toThrow(argument)
    },
  )

  it.each(['null', '{"roles":"x"}', '{"groups":"abc"}', '{"roles":[1]}', '{"userId":1}'])(
    'creating a token throws for the options %s',
    async options => {
      const { hub } = await openHub({ authenticate: { key: KEY } })
      await expect(hub.token(js(options))).rejects.toThrow(argument)
    },
  )

  it('sending throws for invalid message options', async () => {
    const { hub } = await openHub()
    for (const options of ['null', '{"exclude":"abc"}', '{"exclude":[1]}', '5']) {
      expect(() => hub.sendToAll(1, js(options))).toThrow(argument)
    }
  })

  it('closing a connection throws for an invalid reason, and its session stays', async () => {
    const { hub, sessionLog } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    expect(() => hub.closeConnection(client.connectionId, js('5'))).toThrow(argument)
    await client.settled()
    expect([sessionLog, hub.connections[0]?.attached]).toEqual([['connected anonymous'], true])
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a bigint', { a: 1n }],
    ['more than 16 MiB', 'x'.repeat(16 * 1024 * 1024)],
  ])('sending throws for invalid data even if there are no recipients: %s', async (_, data) => {
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
