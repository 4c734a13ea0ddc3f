import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../support/open-store.js'
import { requestPacket } from '../../support/packets.js'
import { TestClient } from '../../support/test-client.js'
import { responseTopicOf } from '../../support/topics.js'
import { command } from '../../support/words.js'

/**
 * The keep-alive in seconds. A client that is silent for one and a half times as long is disconnected (MQTT 5.0,
 * section 3.1.2.10).
 */
const KEEP_ALIVE = 10
const A_WHILE = KEEP_ALIVE * 1_000

describe('the keep-alive timeout', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  async function connect() {
    const { store } = await openStore()
    const client = await TestClient.connect(store.url, 'alice', { keepalive: KEEP_ALIVE })
    await client.subscribe(responseTopicOf('alice'))
    return { store, client }
  }

  it('requests reset the keep-alive timeout', async () => {
    const { store, client } = await connect()
    for (let id = 1; id <= 5; id++) {
      vi.advanceTimersByTime(A_WHILE)
      client.send(requestPacket('alice', command('GET k'), id))
      await client.came('publish', id)
    }
    expect(store.clientIds).toEqual(['alice'])
  })

  it('acknowledgements reset the keep-alive timeout', async () => {
    const { store, client } = await connect()
    for (let id = 1; id <= 5; id++) client.send(requestPacket('alice', command('GET k'), id))
    for (const publish of await client.came('publish', 5)) {
      vi.advanceTimersByTime(A_WHILE)
      client.acknowledge(publish)
      // The arrival of an acknowledgement is not observable, so the test then awaits a message on another connection.
      for (let turns = 0; turns < 3; turns++) await (await TestClient.connect(store.url, 'observer')).settled()
    }
    expect(store.clientIds).toContain('alice')
  })
})
