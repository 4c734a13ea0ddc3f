import { expect } from 'vitest'
import type { Dialect } from '../../src/protocol/replies.js'
import { conformanceSuite, type Target, type TargetOptions } from '../suites/conformance-suite.js'
import { some } from '../support/effort.js'
import { openStore } from '../support/open-store.js'
import { notificationTopicOf, RawClient } from '../support/raw-client.js'
import { bytes, textOf } from '../support/words.js'

async function runningStore(
  transport: 'url' | 'wsUrl',
  dialect: Dialect,
  { clock, clients, bounds }: TargetOptions,
): Promise<Target> {
  const { store } = await openStore({ clock, dialect, ...bounds })
  const connections = await Promise.all(clients.map(async id => RawClient.ready(store[transport], id)))
  const connectionOf = (id: string): RawClient =>
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
      return connection.inbox.splice(0).map(({ topic, text, version }) => {
        const key = textOf(bytes(topic.slice(topic.lastIndexOf('/') + 1)))
        const name = Buffer.from(key, 'hex').toString('latin1')
        expect(topic).toBe(notificationTopicOf(id, name))
        return { key: name, payload: text, version }
      })
    },
  }
}

const RUNS = [
  ['TCP', 'url', 'field'],
  ['WebSocket', 'wsUrl', 'documented'],
  ['TCP', 'url', 'documented'],
  ['WebSocket', 'wsUrl', 'field'],
] as const

for (const [transport, url, dialect] of some(RUNS, 1)) {
  conformanceSuite(`A running store over ${transport}, ${dialect} dialect`, dialect, async options =>
    runningStore(url, dialect, options),
  )
}
