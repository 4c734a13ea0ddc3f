import { WebPubSubClient, WebPubSubJsonReliableProtocol } from '@azure/web-pubsub-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'
import { hex } from '../wire/protobuf-vectors.js'

const ERROR = { name: 'NotSupported', message: 'This hub does not support invocations, streams or group states' }

/** Frames of the official clients, with the expected responses. */
const CALLS = [
  [
    'an invocation',
    { type: 'invoke', invocationId: 'i1', target: 'event', event: 'e', dataType: 'json', data: 1 },
    { type: 'invokeResponse', invocationId: 'i1', success: false, error: ERROR },
  ],
  [
    'the start of a stream',
    { type: 'sendToGroup', group: 'g', noEcho: false, stream: { streamId: 's1', idleTimeoutMs: 300_000 } },
    { type: 'streamClosed', streamId: 's1', error: ERROR },
  ],
  [
    'the start of a stream to the application',
    { type: 'event', event: 'e', stream: { streamId: 's1' } },
    { type: 'streamClosed', streamId: 's1', error: ERROR },
  ],
  [
    'a part of a stream',
    { type: 'streamData', streamId: 's1', streamSequenceId: 1, dataType: 'text', data: 'x' },
    { type: 'streamClosed', streamId: 's1', error: ERROR },
  ],
  [
    'the end of a stream',
    { type: 'streamEnd', streamId: 's1' },
    { type: 'streamClosed', streamId: 's1', error: ERROR },
  ],
  [
    'a state of a group',
    { type: 'setGroupState', group: 'g', state: { entries: { a: 'b' } }, ackId: 7 },
    { type: 'ack', ackId: 7, success: false, error: ERROR },
  ],
  [
    'a call of an unknown kind',
    { type: 'teleport', ackId: 8 },
    { type: 'ack', ackId: 8, success: false, error: ERROR },
  ],
] as const

describe('unsupported calls', () => {
  it.each(CALLS)('the hub rejects %s and keeps the session', async (_, call, answer) => {
    const { hub, sessionLog } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    client.send(call)
    await client.settled()
    expect(client.frames[1]).toEqual(answer)
    await client.join('g')
    expect(sessionLog).toEqual(['connected anonymous'])
  })

  it.each([
    { type: 'cancelInvocation', invocationId: 'i1' },
    { type: 'invoke' },
    { type: 'invoke', invocationId: 7 },
    { type: 'streamData' },
    { type: 'teleport' },
  ])('the hub ignores a call without an id for a response: %o', async frame => {
    const { hub, sessionLog } = await openHub()
    const client = await RawPubSubClient.connect(hub.url)
    client.send(frame)
    await client.settled()
    expect(client.frames.map(({ type }) => type)).toEqual(['system', 'pong'])
    expect(sessionLog).toEqual(['connected anonymous'])
  })

  it('an invocation of the official client fails with NotSupported', async () => {
    const { hub } = await openHub()
    const client = new WebPubSubClient(hub.url, { protocol: WebPubSubJsonReliableProtocol() })
    onTestFinished(() => client.stop())
    await client.start()
    await expect(client.invokeEvent('e', 1, 'json')).rejects.toMatchObject({ errorDetail: { name: 'NotSupported' } })
    await client.sendToGroup('g', 1, 'json')
  })

  it.each([
    ['an invocation', '52 07 0a0165 12026931', '2a', 'invokeResponse', 'i1'],
    ['the start of a stream', '0a 09 0a0167 3a040a027331', '42', 'streamClosed', 's1'],
    ['the start of a stream to the application', '2a 09 0a0165 2a040a027331', '42', 'streamClosed', 's1'],
    ['a part of a stream', '6a 06 0a027331 1001', '42', 'streamClosed', 's1'],
    ['the end of a stream', '72 04 0a027331', '42', 'streamClosed', 's1'],
  ] as const)('the hub rejects an unsupported call in protobuf: %s', (_, frame, tag, answer, id) => {
    expect(protobufHubCodec.decode(hex(frame))).toEqual({ type: 'newerCall', answer, id })
    const refusal = protobufHubCodec.encode({ type: answer, id, error: { name: 'N', message: 'm' } })
    const error = answer === 'invokeResponse' ? '22' : '12'
    expect(refusal).toEqual(hex(`${tag} 0c 0a02${Buffer.from(id).toString('hex')} ${error}06 0a014e 12016d`))
  })

  it.each([
    ['7a', 'setGroupState'],
    ['8201', 'subscribeGroupState'],
    ['8a01', 'unsubscribeGroupState'],
  ])('the hub decodes a group state call in protobuf: %s', tag => {
    expect(protobufHubCodec.decode(hex(`${tag} 05 0a0167 1007`))).toEqual({ type: 'newerCall', answer: 'ack', id: 7n })
    expect(protobufHubCodec.decode(hex(`${tag} 03 0a0167`))).toEqual({ type: 'unknown' })
  })

  it('the hub escapes an id in its JSON response', () => {
    const error = { name: 'N', message: '' }
    expect(jsonHubCodec.encode({ type: 'streamClosed', id: '"', error })).toBe(
      '{"type":"streamClosed","streamId":"\\"","error":{"name":"N","message":""}}',
    )
  })
})
