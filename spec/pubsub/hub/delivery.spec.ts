import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

async function openPair() {
  const opened = await openHub()
  const [ann, bob] = [await RawPubSubClient.connect(opened.hub.url), await RawPubSubClient.connect(opened.hub.url)]
  return { ...opened, ann, bob }
}

const publish = (data: unknown, more: object = {}) => ({
  type: 'sendToGroup',
  group: 'g',
  dataType: 'json',
  data,
  ...more,
})

describe('a hub', () => {
  it('the first frame contains the identity of the client', async () => {
    const { hub } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    expect(client.frames).toEqual([
      {
        type: 'system',
        event: 'connected',
        userId: null,
        connectionId: expect.stringMatching(/^[\w-]{22}$/),
        reconnectionToken: expect.stringMatching(/^[\w-]{43}$/),
      },
    ])
    expect(client.socket.protocol).toBe('json.reliable.webpubsub.azure.v1')
  })

  it('members receive messages numbered from 1, before the sender gets its ack', async () => {
    const { ann, bob } = await openPair()
    await Promise.all([ann.join('g'), bob.join('g')])
    expect(await ann.request(publish('one'))).toEqual({ type: 'ack', ackId: 2, success: true })
    await ann.request(publish({ two: [2] }))
    const expected = ['one', { two: [2] }].map((data, i) => ({
      type: 'message',
      from: 'group',
      group: 'g',
      dataType: 'json',
      data,
      sequenceId: i + 1,
    }))
    expect(await bob.received(2)).toEqual(expected)
    expect(ann.messages).toEqual(expected)
    expect(ann.frames.slice(-4).map(frame => frame['type'])).toEqual(['message', 'ack', 'message', 'ack'])
  })

  it('noEcho excludes only the sending connection', async () => {
    const { ann, bob } = await openPair()
    await Promise.all([ann.join('g'), bob.join('g')])
    await ann.request(publish('quiet', { noEcho: true }))
    await ann.request(publish('loud'))
    expect((await bob.received(2)).map(message => message['data'])).toEqual(['quiet', 'loud'])
    expect(ann.messages.map(message => [message['data'], message['sequenceId']])).toEqual([['loud', 1]])
  })

  it('a former member receives no messages, and a non-member may send', async () => {
    const { ann, bob } = await openPair()
    await bob.join('g')
    await ann.request(publish('in'))
    await bob.request({ type: 'leaveGroup', group: 'g' })
    await ann.request(publish('out'))
    await bob.settled()
    expect(bob.messages.map(message => message['data'])).toEqual(['in'])
  })

  it('acknowledges only requests with an ackId, once each', async () => {
    const { ann } = await openPair()
    ann.send({ type: 'joinGroup', group: 'g' })
    ann.send(publish('x'))
    ann.send({ ...publish('y'), ackId: 7 })
    ann.send({ ...publish('y'), ackId: 7 })
    ann.send({ type: 'leaveGroup', group: 'g', ackId: 7 })
    await ann.settled()
    expect(ann.frames.filter(frame => frame['type'] === 'ack')).toEqual([
      { type: 'ack', ackId: 7, success: true },
      ...Array(2).fill({
        type: 'ack',
        ackId: 7,
        success: false,
        error: { name: 'Duplicate', message: 'A request with this ackId was processed already' },
      }),
    ])
    expect(ann.messages.map(message => message['data'])).toEqual(['x', 'y'])
  })

  it('a ping is answered with a pong', async () => {
    const { ann } = await openPair()
    ann.send({ type: 'ping' })
    expect(await ann.waitForFrame(frame => frame['type'] === 'pong')).toEqual({ type: 'pong' })
  })

  it('a frame of an unknown kind is ignored', async () => {
    const { ann } = await openPair()
    ann.send({ type: 'cancelInvocation', invocationId: '1' })
    await ann.settled()
    expect(ann.frames).toHaveLength(2)
  })

  it.each(['constructor', '__proto__', 'hasOwnProperty', 'a.b', '😀'])('a group may be named %s', async group => {
    const { ann, bob, hub } = await openPair()
    await bob.join(group)
    expect(await ann.request({ ...publish('x'), group })).toMatchObject({ success: true })
    expect((await bob.received(1))[0]).toMatchObject({ group, data: 'x' })
    expect(hub.sendToGroup(group, 'y')).toBe(1)
  })
})

describe('a session', () => {
  it('close code 1000 from the client ends the session', async () => {
    const { ann, sessionLog } = await openPair()
    ann.socket.close(1000)
    await eventually(() => sessionLog.length === 3)
    expect(sessionLog.at(-1)).toBe('disconnected anonymous: client')
  })

  it.each([1000, 1001])('requests that precede a close with %i are processed', async code => {
    const { ann, bob, hub } = await openPair()
    await bob.join('g')
    for (let i = 1; i <= 450; i++) for (let j = 0; j < 12; j++) ann.send(j === 0 ? publish(i) : { type: 'ping' })
    ann.socket.close(code)
    await bob.received(450)
    expect(bob.messages.map(message => message['data'])).toEqual(Array.from({ length: 450 }, (_, i) => i + 1))
    await eventually(() => hub.connections.filter(({ attached }) => attached).length === 1)
    expect(hub.connections).toHaveLength(code === 1000 ? 1 : 2)
  })

  it.each([undefined, 1001, 3000])('survives a close with %s', async code => {
    const { ann, hub, sessionLog } = await openPair()
    ann.socket.close(code)
    await eventually(() => hub.connections.some(({ attached }) => !attached))
    expect(sessionLog).toHaveLength(2)
  })
})
