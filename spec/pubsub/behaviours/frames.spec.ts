import { firstValueFrom, lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { eventually } from '../../support/eventually.js'
import { record } from '../../support/open-client.js'
import { openScriptedHub, openShippedHub, texts, watch } from '../support/behaviour.js'
import { PROTOCOLS } from '../support/scripted-hub.js'
import { DOWN_TEXTS, UP_TEXTS } from '../wire/json-vectors.js'
import { ANY, DOWN_VECTORS, hex, UNKNOWN_DOWN, UP_VECTORS } from '../wire/protobuf-vectors.js'

/** Frames of unknown kinds, the second of them with sequence id 1. */
const UNKNOWN: Record<'json' | 'protobuf', readonly FrameData[]> = {
  json: [
    '{"type":"novelty","a":[1]}',
    '{"type":"message","from":"peer","data":1,"sequenceId":1}',
    '{"type":"message","from":"group","group":"g","dataType":"xml","data":"<a/>","sequenceId":2}',
    '{"type":"system","event":"restarting"}',
    '{"type":"pong","extra":true}',
  ],
  protobuf: UNKNOWN_DOWN.map(([, bytes]) => hex(bytes)).filter((_, i) => i !== 2),
}

const MALFORMED: Record<'json' | 'protobuf', readonly FrameData[]> = {
  json: ['{"type":', 'null', Uint8Array.of(1, 2, 3)],
  protobuf: [hex('12 05 0a'), hex('4e 00'), 'ping'],
}

describe.each(PROTOCOLS)('%s', protocol => {
  it('1. The client offers the exact subprotocol and waits for `connected` with id and token.', async () => {
    const { hub, statuses, states, reached } = await openScriptedHub(protocol)
    const peer = await hub.peer(1)
    expect(peer.socket.protocol).toBe(`${protocol}.reliable.webpubsub.azure.v1`)
    const answered = new Promise(resolve => peer.socket.once('pong', resolve))
    peer.socket.ping()
    await answered
    expect(states()).toEqual(['connecting'])
    peer.greet('c7', 't7')
    await reached('connected')
    expect(statuses.at(-1)).toEqual({ state: 'connected', connectionId: 'c7', userId: 'ann' })
    peer.drop()
    const { searchParams } = (await hub.peer(2)).url
    expect(searchParams.get('awps_reconnection_token')).toBe('t7')
  })

  it('2. Requests with an ackId have the exact JSON and resolve on their own acks in any order.', async () => {
    const { hub, client, reached } = await openScriptedHub(protocol)
    const peer = (await hub.peer(1)).greet()
    await reached('connected')
    client.group('g').messages$.subscribe().unsubscribe()
    await peer.waitForFrames('joinGroup')
    peer.ack(1n)
    await peer.waitForFrames('leaveGroup')
    const done: unknown[] = []
    const send = client.group('g').send({ a: 1 }, { noEcho: true })
    send.subscribe(({ ackId }) => done.push(ackId))
    client.sendEvent('e', 'hi', { dataType: 'text' }).subscribe(({ ackId }) => done.push(ackId))
    await peer.waitForFrames('event')
    peer.ack(4n).ack(2n).ack(3n)
    await eventually(() => done.length === 2)
    expect(done).toEqual([4n, 3n])
    const expected = [
      '{"type":"joinGroup","group":"g","ackId":1}',
      '{"type":"leaveGroup","group":"g","ackId":2}',
      '{"type":"sendToGroup","group":"g","ackId":3,"noEcho":true,"dataType":"json","data":{"a":1}}',
      '{"type":"event","event":"e","ackId":4,"dataType":"text","data":"hi"}',
    ]
    if (protocol === 'json') expect(peer.data).toEqual(expected)
    expect(peer.frames).toEqual(expected.map(jsonHubCodec.decode))
  })

  it('3. A request without an ackId is sent without that member, and nothing waits for an ack.', async () => {
    const { hub, client, reached } = await openScriptedHub(protocol)
    const peer = (await hub.peer(1)).greet()
    await reached('connected')
    const results = await Promise.all([
      lastValueFrom(client.group('g').send('x', { ack: false })),
      lastValueFrom(client.sendEvent('e', 'x', { ack: false })),
    ])
    expect(results).toEqual([
      { ackId: undefined, duplicate: false },
      { ackId: undefined, duplicate: false },
    ])
    await peer.waitForFrames('event')
    expect(peer.frames.map(frame => 'ackId' in frame && frame.ackId)).toEqual([undefined, undefined])
    if (protocol === 'json') expect(peer.data.join()).not.toContain('ackId')
  })

  it('4. `noEcho: true` hides a message only from the sending connection, the default does not.', async () => {
    const { open, joined } = await openShippedHub(protocol)
    const [ann, bob] = [open('ann'), open('bob')]
    const [toAnn, toBob] = [texts(ann), texts(bob)]
    await Promise.all([joined('g', 'ann'), joined('g', 'bob')])
    await lastValueFrom(ann.client.group('g').send('quiet', { noEcho: true }))
    await lastValueFrom(ann.client.group('g').send('loud'))
    await eventually(() => toAnn.length > 0 && toBob.length > 1)
    expect([toAnn, toBob]).toEqual([['loud'], ['quiet', 'loud']])
  })

  it('5. JSON, text, binary and protobuf data survive each subprotocol, and both in one group.', async () => {
    const { open, urlOf, joined } = await openShippedHub(protocol)
    const sender = open('ann')
    const readers = PROTOCOLS.map(other => {
      const reader = watch(urlOf(other), { protocol: other })
      return record(reader.client.group('g').messages$)
    })
    await Promise.all(PROTOCOLS.map(user => joined('g', user)))
    const payloads = [
      { dataType: 'json', data: { a: [1, null, 'ü'] } },
      { dataType: 'text', data: 'grüß\u0000' },
      { dataType: 'binary', data: Uint8Array.of(0, 1, 255) },
      { dataType: 'protobuf', data: ANY },
    ] as const
    for (const { dataType, data } of payloads) await lastValueFrom(sender.client.group('g').send(data, { dataType }))
    for (const reader of readers) {
      await reader.until(({ values }) => values.length === payloads.length)
      expect(reader.values.map(({ dataType, data }) => ({ dataType, data: plain(data) }))).toEqual(payloads)
    }
  })

  it('6. All core messages match golden protobuf bytes, including ack_id 0 and 2^64-1.', async () => {
    if (protocol === 'protobuf') {
      for (const [, bytes, frame] of UP_VECTORS) expect(protobufClientCodec.encode(frame)).toEqual(hex(bytes))
      for (const [, bytes, frame] of DOWN_VECTORS) expect(protobufHubCodec.encode(frame)).toEqual(hex(bytes))
    } else {
      for (const [frame, text] of UP_TEXTS) expect(jsonClientCodec.encode(frame)).toBe(text)
      for (const [frame, text] of DOWN_TEXTS) expect(jsonHubCodec.encode(frame)).toBe(text)
    }
    const watched = await openScriptedHub(protocol)
    const peer = (await watched.hub.peer(1)).greet()
    texts(watched)
    await peer.waitForFrames('joinGroup')
    const join = protocol === 'protobuf' ? hex('32 05 0a0167 1001') : '{"type":"joinGroup","group":"g","ackId":1}'
    expect(peer.data).toEqual([join])
  })

  it('7. Unknown types and fields are ignored, but their sequenceIds count.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const peer = (await watched.hub.peer(1)).greet()
    await peer.waitForFrames('joinGroup')
    for (const data of UNKNOWN[protocol]) peer.sendData(data)
    const answer = firstValueFrom(watched.client.serverMessages$)
    peer.send({ type: 'serverMessage', payload: { dataType: 'text', data: 'no number' } })
    await answer
    watched.clock.advance(1_000)
    const [counted] = await peer.waitForFrames('sequenceAck')
    expect(counted?.sequenceId).toBe(protocol === 'json' ? 2n : 8n)
    peer.publish(20n)
    await eventually(() => received.length > 0)
    expect([received, watched.errors, watched.states()]).toEqual([['20'], [], ['connecting', 'connected']])
  })

  it('8. A malformed frame or one of the wrong kind is reported, and later frames are processed.', async () => {
    const watched = await openScriptedHub(protocol)
    const received = texts(watched)
    const peer = (await watched.hub.peer(1)).greet()
    await peer.waitForFrames('joinGroup')
    for (const data of MALFORMED[protocol]) peer.sendData(data)
    peer.publish(1n)
    await eventually(() => received.length > 0)
    expect([received, watched.errors]).toEqual([['1'], ['payload', 'payload', 'payload']])
    expect(watched.states()).toEqual(['connecting', 'connected'])
  })
})

const plain = (data: unknown): unknown => (data instanceof Uint8Array ? new Uint8Array(data) : data)
