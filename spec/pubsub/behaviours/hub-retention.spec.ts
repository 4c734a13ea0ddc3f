import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openShippedHub, texts } from '../support/behaviour.js'
import { CodecClient } from '../support/codec-client.js'
import { PROTOCOLS } from '../support/scripted-hub.js'

const BEYOND_DOUBLES = 2n ** 53n
const MAXIMUM = 2n ** 64n - 1n

// The clients of these behaviours send and record raw frames over a socket of Node.
describe.each(PROTOCOLS)('%s', protocol => {
  it('12. A sequenceAck of n releases messages up to n; acks of past or future ids do nothing.', async () => {
    const { hub, server } = await openShippedHub(protocol)
    const reader = await CodecClient.join(`${server.url}/client/hubs/chat`, protocol)
    for (let i = 1; i <= 10; i++) hub.sendToGroup('g', i)
    await reader.received(10)
    for (const sequenceId of [6n, 2n, 0n, 11n, 1_000n, BEYOND_DOUBLES + 1n, MAXIMUM]) {
      reader.send({ type: 'sequenceAck', sequenceId })
    }
    await reader.settled()
    const recovered = reader.recover()
    expect(await recovered.received(4)).toEqual([7n, 8n, 9n, 10n])
  })

  it('15. A client that never acks is closed with 1008 at message 1001 or 16 MB, others stay.', {
    tags: 'slow',
  }, async () => {
    const { hub, server, open, joined, sessionLog } = await openShippedHub(protocol)
    const others = texts(open('bob'))
    await joined('g', 'bob')
    const url = `${server.url}/client/hubs/chat`
    const reader = await CodecClient.join(url, protocol)
    for (let sent = 0; sent < 1_000; sent += 250) {
      for (let i = 0; i < 250; i++) hub.sendToGroup('g', i)
      await eventually(() => others.length === sent + 250)
    }
    await reader.received(1_000)
    expect(sessionLog).toEqual(['connected bob', 'connected ann'])
    hub.sendToGroup('g', 'one too many')
    expect(sessionLog.at(-1)).toBe('disconnected ann: overflow')
    expect([await reader.closed(), await reader.recover().closed()]).toEqual([1008, 1008])
    const heavyClient = await CodecClient.join(url, protocol)
    for (let i = 1; i <= 16; i++) {
      hub.sendToGroup('g', 'x'.repeat(1024 * 1024))
      await eventually(() => others.length === 1_001 + i)
    }
    expect([await heavyClient.closed(), await heavyClient.recover().closed()]).toEqual([1008, 1008])
    expect(hub.connections.map(({ userId }) => userId)).toEqual(['bob'])
  })

  it('22. A session past its retention, or with a wrong token, id or hub, is rejected with 1008.', async () => {
    const { hub, server, clock, attached, sessionLog } = await openShippedHub(protocol)
    const url = `${server.url}/client/hubs/chat`
    const reader = await CodecClient.join(url, protocol)
    const attempts = [
      reader.recover({ token: 'wrong' }),
      reader.recover({ id: 'somebody' }),
      reader.recover({ url: `${server.url}/client/hubs/other` }),
    ]
    expect(await Promise.all(attempts.map(attempt => attempt.closed()))).toEqual([1008, 1008, 1008])
    hub.sendToGroup('g', 1)
    expect(await reader.received(1)).toEqual([1n])
    reader.cut()
    await attached(false)
    clock.advance(59_999)
    const recovered = reader.recover()
    expect(await recovered.received(1)).toEqual([1n])
    recovered.cut()
    await attached(false)
    clock.advance(60_000)
    expect(await reader.recover().closed()).toBe(1008)
    expect(sessionLog).toEqual(['connected ann', 'disconnected ann: expired'])
  })
})
