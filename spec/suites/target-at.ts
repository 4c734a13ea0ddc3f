import { expect } from 'vitest'
import type { ManualClock } from '../support/manual-clock.js'
import { StoreClient } from '../support/store-client.js'
import { notificationTopicOf } from '../support/topics.js'
import { bytes, textOf } from '../support/words.js'
import type { Target } from './conformance-suite.js'

/** Opens the store at an address for the conformance suite. The spec controls the time of the store. */
export async function targetAt(
  url: string,
  clock: Pick<ManualClock, 'advance'>,
  clients: readonly string[],
): Promise<Target> {
  const connections = await Promise.all(clients.map(async id => StoreClient.ready(url, id)))
  const connectionOf = (id: string): StoreClient =>
    connections.find(connection => connection.id === id) ?? expect.fail(`No client ${id}`)
  return {
    async send(id, { payload, timestamp, fencingToken }) {
      const response = await connectionOf(id).request(payload, { timestamp, fencingToken })
      expect(response.property('__stat')).toBe('200')
      return response
    },
    advance: ms => clock.advance(ms),
    async told(id) {
      const connection = connectionOf(id)
      await connection.settled()
      return connection.inbox.splice(0).map(message => {
        const { topic, text, version } = message
        const reason = message.property('reason')
        const key = textOf(bytes(topic.slice(topic.lastIndexOf('/') + 1)))
        const name = Buffer.from(key, 'hex').toString('latin1')
        expect(topic).toBe(notificationTopicOf(id, name))
        return { key: name, payload: text, version, reason: reason?.toString() }
      })
    },
  }
}
