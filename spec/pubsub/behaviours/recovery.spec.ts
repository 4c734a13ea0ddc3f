import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { record } from '../../support/open-client.js'
import { openScriptedHub, openShippedHub, texts, upTo } from '../support/behaviour.js'
import { CodecClient } from '../support/codec-client.js'
import { PROTOCOLS } from '../support/scripted-hub.js'

const BEYOND_DOUBLES = 2n ** 53n
const MAXIMUM = 2n ** 64n - 1n

describe.each(PROTOCOLS)('%s', protocol => {
  it('9. After a drop, the recovery URL has both parameters encoded, without a new token.', async () => {
    const { hub, reached, urlsAsked } = await openScriptedHub(protocol)
    const first = (await hub.peer(1)).greet('a b/c+d', 'x=&y?')
    await reached('connected')
    first.drop()
    const second = await hub.peer(2)
    expect(second.url.search).toBe('?awps_connection_id=a%20b%2Fc%2Bd&awps_reconnection_token=x%3D%26y%3F')
    expect([second.url.pathname, second.socket.protocol]).toEqual([first.url.pathname, first.socket.protocol])
    second.answerRequests()
    await reached('connected')
    expect(urlsAsked()).toBe(1)
  })

  it('10. A recovery with 5 unacknowledged and 3 detached messages delivers 8 once, in order.', async () => {
    const { hub, link, open, joined, attached } = await openShippedHub(protocol)
    const clock = new ManualClock()
    const ann = open('ann', { clock })
    const received = record(ann.client.group('g').messages$)
    await joined()
    for (let i = 1; i <= 5; i++) hub.sendToGroup('g', i)
    await received.until(({ values }) => values.length === 5)
    link.cut()
    await attached(false)
    // The first attempt fails, and the next one waits for its retry delay.
    await eventually(() => ann.statuses.some(status => status.state === 'recovering' && status.attempt === 2))
    for (let i = 6; i <= 8; i++) hub.sendToGroup('g', i)
    link.restore()
    clock.advance(20)
    await received.until(({ values }) => values.length === 8)
    hub.sendToGroup('g', 9)
    await received.until(({ values }) => values.length === 9)
    expect(received.values.map(({ data }) => data)).toEqual(upTo(9))
    expect(received.values.map(({ sequenceId }) => Number(sequenceId))).toEqual(upTo(9))
  })

  it('11. Redelivered messages up to the largest id are dropped, and it is acknowledged again.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const first = (await watched.hub.peer(1)).greet().answerRequests().publish(1n, 2n, 3n)
    await eventually(() => received.length === 3)
    first.drop()
    const second = (await watched.hub.peer(2)).answerRequests()
    await watched.reached('connected')
    expect((await second.waitForFrames('sequenceAck'))[0]?.sequenceId).toBe(3n)
    second.publish(2n, 3n, 4n)
    await eventually(() => received.length > 3)
    watched.clock.advance(1_000)
    expect((await second.waitForFrames('sequenceAck', 2))[1]?.sequenceId).toBe(4n)
    expect(received).toEqual(['1', '2', '3', '4'])
  })

  it('13. Ids from 2^53+1 to 2^53+3 and 2^64-1 survive exactly in both codecs.', async () => {
    const ids = [1n, 2n, 3n].map(i => BEYOND_DOUBLES + i).concat(MAXIMUM)
    const watched = await openScriptedHub(protocol)
    const received = record(watched.client.group('g').messages$)
    const peer = (await watched.hub.peer(1)).greet()
    await peer.waitForFrames('joinGroup')
    for (const [i, id] of ids.entries()) {
      peer.publish(id)
      await received.until(({ values }) => values.length === i + 1)
      watched.clock.advance(1_000)
      expect((await peer.waitForFrames('sequenceAck', i + 1)).at(-1)?.sequenceId).toBe(id)
    }
    expect(received.values.map(({ sequenceId }) => sequenceId)).toEqual(ids)
    const { server } = await openShippedHub(protocol)
    const sender = await CodecClient.join(`${server.url}/client/hubs/chat`, protocol)
    for (const ackId of ids) sender.send({ type: 'joinGroup', group: 'g', ackId })
    await sender.settled()
    expect(sender.acks.slice(1)).toMatchObject(ids.map(ackId => ({ ackId, success: true })))
  })

  it('14. A burst of 5000 messages between two acks never leaves 1000 unacknowledged.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const peer = (await watched.hub.peer(1)).greet()
    await peer.waitForFrames('joinGroup')
    peer.publish(...upTo(5_000).map(BigInt))
    await eventually(() => peer.of('sequenceAck').at(-1)?.sequenceId === 5_000n)
    const acked = peer.of('sequenceAck').map(({ sequenceId }) => Number(sequenceId))
    const steps = acked.map((id, i) => id - (acked[i - 1] ?? 0))
    expect([received.length, Math.max(...steps) <= 100]).toEqual([5_000, true])
    const { hub, open, joined, sessionLog } = await openShippedHub(protocol)
    const ann = open('ann', { clock: new ManualClock() })
    const reader = texts(ann)
    await joined()
    for (let sent = 500; sent <= 5_000; sent += 500) {
      for (let i = 0; i < 500; i++) hub.sendToGroup('g', i)
      await eventually(() => reader.length === sent)
      // This send is queued behind the acks, which a browser may send much later than it reads.
      await lastValueFrom(ann.client.group('g').send('behind them', { noEcho: true }))
    }
    expect(sessionLog).toEqual(['connected ann'])
  })

  it('16. A message whose ack was lost is resent with its ackId, and the Duplicate is a success.', async () => {
    const { open, joined, link, hub } = await openShippedHub(protocol)
    const direct = await CodecClient.join(hub.url, protocol)
    const ann = open('ann')
    await ann.reached('connected')
    await joined()
    const earlier = await lastValueFrom(ann.client.group('g').send('first'))
    link.stall('down')
    const result = lastValueFrom(ann.client.group('g').send('second'))
    await direct.received(2)
    link.cut()
    link.restore()
    expect(await result).toEqual({ ackId: (earlier.ackId ?? 0n) + 1n, duplicate: true })
    await lastValueFrom(ann.client.group('g').send('third'))
    expect(await direct.received(3)).toEqual([1n, 2n, 3n])
  })
})
