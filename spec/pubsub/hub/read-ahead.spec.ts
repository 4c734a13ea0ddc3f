import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { SenderRateLimiter } from '../../../src/pubsub/hub/sender-rate-limiter.js'
import { ReadAheadBudget, ReceiveQueue, WebSocketLink } from '../../../src/pubsub/hub/websocket-link.js'
import { listen } from '../../support/listen.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openTurnScheduler } from '../../support/turn-scheduler.js'

/** One mebibyte without the 128 bytes of overhead per frame. */
const MEBIBYTE = 'x'.repeat(1024 * 1024 - 128)

describe('ReceiveQueue', () => {
  it('a queue is full above 4 MiB', () => {
    const ahead = new ReceiveQueue(new ReadAheadBudget())
    for (let i = 0; i < 4; i++) ahead.push(MEBIBYTE)
    expect(ahead.isFull).toBe(false)
    ahead.push('x')
    expect(ahead.isFull).toBe(true)
    ahead.shift()
    expect(ahead.isFull).toBe(false)
  })

  it('a queue is full at 20,000 frames', () => {
    const ahead = new ReceiveQueue(new ReadAheadBudget())
    for (let i = 0; i < 19_999; i++) ahead.push('x')
    expect(ahead.isFull).toBe(false)
    ahead.push('x')
    expect(ahead.isFull).toBe(true)
  })

  it('all queues are full above 64 MiB in total, until frames are removed', () => {
    const room = new ReadAheadBudget()
    const all = Array.from({ length: 17 }, () => new ReceiveQueue(room))
    const [first, last] = [all[0], all[16]]
    for (const ahead of all.slice(0, 16)) for (let i = 0; i < 4; i++) ahead.push(MEBIBYTE)
    expect([first?.isFull, last?.isFull]).toEqual([false, false])
    last?.push('x')
    expect([first?.isFull, last?.isFull]).toEqual([true, true])
    first?.shift()
    expect(last?.isFull).toBe(false)
    for (const ahead of all) ahead.clear()
    expect(room.usedBytes).toBe(0)
  })

  it('a queued frame does not retain the chunk in which it was received', () => {
    const ahead = new ReceiveQueue(new ReadAheadBudget())
    const chunk = new Uint8Array(65_536)
    ahead.push(chunk.subarray(100, 110))
    const kept = ahead.shift()
    expect(kept instanceof Uint8Array && [kept.length, kept.buffer.byteLength]).toEqual([10, 10])
  })
})

describe('WebSocketLink', () => {
  it("a new connection is read only when its user's queued frames are processed", async () => {
    const server = createServer()
    const accepted = once(new WebSocketServer({ server }), 'connection')
    const client = new WebSocket(`ws://127.0.0.1:${await listen(server)}`)
    onTestFinished(() => client.terminate())
    const [[socket, request]] = await Promise.all([accepted, once(client, 'open')])
    const limits = { maxFrameRatePerUser: 10, maxByteRatePerUser: 1_000 }
    const meter = new SenderRateLimiter(limits, new ManualClock()).meterFor('ann', '192.0.2.1')
    meter.addQueued(5_000)
    new WebSocketLink(socket, request.socket, openTurnScheduler(), new ReadAheadBudget(), meter)
    expect(socket.isPaused).toBe(true)
    meter.addQueued(-5_000)
    expect(socket.isPaused).toBe(false)
  })
})
