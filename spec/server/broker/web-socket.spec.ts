import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { openBroker } from '../../support/open-broker.js'

describe('a WebSocket', () => {
  it('connection does not charge pings to the shared memory budget', async () => {
    const broker = await openBroker()
    const socket = new WebSocket(`ws://127.0.0.1:${broker.wsPort}`, 'mqtt')
    await new Promise(resolve => socket.once('open', resolve))
    for (let n = 0; n < 1_000; n++) {
      const pong = new Promise(resolve => socket.once('pong', resolve))
      socket.ping(new Uint8Array(125))
      await pong
    }
    expect(broker.stats.bufferedBytes).toBe(0)
    socket.terminate()
  })
})
