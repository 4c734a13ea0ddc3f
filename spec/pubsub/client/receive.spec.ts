import { beforeEach, describe, expect, it } from 'vitest'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting().connect()
  setting.client.group('line').messages$.subscribe(setting.observer('line'))
})

const acks = (): unknown[] => setting.socket.of('sequenceAck').map(({ sequenceId }) => sequenceId)

describe('sequence acks', () => {
  it('the client acknowledges the largest id one second after the first message', () => {
    setting.socket.publish(1)
    setting.clock.advance(500)
    setting.socket.publish(2).publish(3)
    setting.clock.advance(499)
    expect(acks()).toEqual([])
    setting.clock.advance(1)
    expect(acks()).toEqual([3])
  })

  it('the client sends no ack without new messages', () => {
    setting.socket.publish(1)
    setting.clock.advance(10_000)
    expect(acks()).toEqual([1])
  })

  it('the client acknowledges every hundredth message of a burst, below the limit of 1,000', () => {
    for (let id = 1; id <= 5_000; id++) setting.socket.publish(id)
    expect(acks()).toEqual(Array.from({ length: 50 }, (_, i) => (i + 1) * 100))
  })

  it('the client acknowledges every mebibyte of messages', () => {
    const large = 'x'.repeat(300_000)
    for (let id = 1; id <= 8; id++) setting.socket.publish(id, 'line', large)
    expect(acks()).toEqual([4, 8])
  })

  it('the client acknowledges unknown frames and messages without a subscriber', () => {
    setting.socket.receive({ type: 'hologram', sequenceId: 1 }).publish(2, 'stranger')
    setting.clock.advance(1_000)
    expect(acks()).toEqual([2])
  })

  it('the client acknowledges ids beyond 2^53 exactly', () => {
    for (const id of ['9007199254740993', '9007199254740994', '18446744073709551615']) {
      setting.socket.receive(
        `{"type":"message","from":"group","group":"line","dataType":"json","data":0,"sequenceId":${id}}`,
      )
      setting.clock.advance(1_000)
    }
    expect(setting.socket.sent.slice(1)).toEqual([
      '{"type":"sequenceAck","sequenceId":9007199254740993}',
      '{"type":"sequenceAck","sequenceId":9007199254740994}',
      '{"type":"sequenceAck","sequenceId":18446744073709551615}',
    ])
  })

  it('the client sends acks only on the socket of the messages', () => {
    setting.socket.publish(1)
    const lost = setting.socket.drop()
    setting.clock.advance(5_000)
    expect(lost.of('sequenceAck')).toEqual([])
  })
})

describe('sequence acks after a recovery', () => {
  it('after a recovery, the client acknowledges at once, and drops and acknowledges duplicates', () => {
    setting.socket.publish(1).publish(2).publish(3)
    setting.recover()
    expect(acks()).toEqual([3])
    setting.socket.publish(2).publish(3).publish(4)
    expect(setting.log).toEqual(['line: 1', 'line: 2', 'line: 3', 'line: 4'])
    setting.clock.advance(1_000)
    expect(acks()).toEqual([3, 4])
  })

  it('after a recovery, redelivered messages are acknowledged even without new messages', () => {
    setting.socket.publish(1)
    setting.recover().socket.publish(1)
    setting.clock.advance(1_000)
    expect(acks()).toEqual([1, 1])
  })

  it('a message completes the recovery, and subscribers receive it', () => {
    setting.socket.publish(1).drop()
    setting.socket.accept().publish(2)
    expect(setting.log).toEqual(['line: 1', 'line: 2'])
    expect(setting.status).toMatchObject({ state: 'connected' })
  })
})

describe('malformed frames', () => {
  it.each([
    ['no JSON', '}{'],
    ['no object', '[1]'],
    ['half an acknowledgement', '{"type":"ack"}'],
    ['half a message', '{"type":"message","from":"group","sequenceId":"x"}'],
  ])('a malformed frame is reported, and later frames are processed: %s', (_, data) => {
    setting.socket.receive(data).publish(1)
    expect(setting.errors).toEqual(['payload'])
    expect(setting.log).toEqual(['line: 1'])
    expect(setting.status).toMatchObject({ state: 'connected' })
  })

  it('a malformed message with a sequence id is reported once and acknowledged', () => {
    const unreadable = { type: 'message', from: 'group', group: 'line', dataType: 'binary', data: '?', sequenceId: 1 }
    setting.socket.receive(unreadable)
    setting.clock.advance(1_000)
    expect(acks()).toEqual([1])
    setting.recover().socket.receive(unreadable)
    expect(setting.errors).toEqual(['payload'])
  })

  it.each([
    { type: 'message', from: 'space', dataType: 'json', data: 1, sequenceId: 1 },
    { type: 'message', from: 'group', group: 'line', dataType: 'smell', data: 1, sequenceId: 1 },
    { type: 'system', event: 'eclipse' },
    { type: 'streamAck', streamId: 's', expectedSequenceId: 1 },
  ])('a frame of a newer hub is ignored and causes no error: %j', frame => {
    setting.socket.receive(frame)
    expect({ errors: setting.errors, log: setting.log }).toEqual({ errors: [], log: [] })
  })
})

describe('server messages', () => {
  it('are emitted on serverMessages$', () => {
    setting.client.serverMessages$.subscribe(setting.observer('server'))
    setting.socket.receive({ type: 'message', from: 'server', dataType: 'text', data: 'hi', sequenceId: 1 })
    expect(setting.log).toEqual(['server: hi'])
  })
})

describe('receiving over protobuf', () => {
  it('messages are received and acknowledged over protobuf', () => {
    setting = new FakeSetting({ codec: protobufClientCodec })
    setting.client.group('line').messages$.subscribe(setting.observer('line'))
    const { socket } = setting
    const hub = (frame: Parameters<typeof protobufHubCodec.encode>[0]): void => {
      socket.receiveData(protobufHubCodec.encode(frame))
    }
    socket.accept()
    hub({ type: 'connected', connectionId: 'c1', reconnectionToken: 't1' })
    hub({ type: 'groupMessage', group: 'line', payload: { dataType: 'text', data: 'x' }, sequenceId: 2n ** 64n - 1n })
    setting.clock.advance(1_000)
    expect(setting.log).toEqual(['line: x'])
    expect(socket.subprotocol).toBe('protobuf.reliable.webpubsub.azure.v1')
    expect(socket.sent.map(data => protobufHubCodec.decode(data))).toEqual([
      { type: 'joinGroup', group: 'line', ackId: 1n },
      { type: 'sequenceAck', sequenceId: 2n ** 64n - 1n },
    ])
  })
})
