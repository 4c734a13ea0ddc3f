import { beforeEach, describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../../src/core/util/errors.js'
import { PubSubRefusedError } from '../../../src/pubsub/client/in-flight-request.js'
import type { SendOptions } from '../../../src/pubsub/client/send.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

/** Sends data to the group `line` and logs the outcome. */
const send = (data: unknown, options: SendOptions = {}) =>
  setting.client
    .group('line')
    .send(data, options)
    .subscribe(setting.observer(`${data}`))

const sentData = (): unknown[] => setting.socket.of('sendToGroup').map(({ data }) => data)

describe('a send', () => {
  it.each<[string, unknown, object, object]>([
    ['JSON by default', { a: [1] }, {}, { dataType: 'json', data: { a: [1] } }],
    ['text as JSON', 'x', {}, { dataType: 'json', data: 'x' }],
    ['a text as text', 'x', { dataType: 'text' }, { dataType: 'text', data: 'x' }],
    ['bytes as binary', new Uint8Array([1, 2, 3]), {}, { dataType: 'binary', data: 'AQID' }],
    [
      'an Any as protobuf',
      new Uint8Array([10, 1, 120]),
      { dataType: 'protobuf' },
      { dataType: 'protobuf', data: 'CgF4' },
    ],
    ['without an echo', 1, { noEcho: true }, { data: 1, noEcho: true }],
  ])('is encoded as the protocol requires: %s', (_, data, options, members) => {
    setting.connect().client.group('line').send(data, options).subscribe()
    expect(setting.socket.frames).toEqual([
      expect.objectContaining({ type: 'sendToGroup', group: 'line', ackId: 1, ...members }),
    ])
  })

  it('an event is encoded as the protocol requires', () => {
    setting.connect().client.sendEvent('click', 7).subscribe(setting.observer('click'))
    expect(setting.socket.frames).toEqual([{ type: 'event', event: 'click', ackId: 1, dataType: 'json', data: 7 }])
    setting.socket.ack(1)
    expect(setting.log).toEqual(['click: acked 1', 'click: complete'])
  })

  it('the call sends, and subscriptions during the send share it', () => {
    setting.connect()
    const twice = setting.client.group('line').send('a')
    expect(setting.socket.frames.map(({ ackId }) => ackId)).toEqual([1])
    twice.subscribe()
    twice.subscribe()
    expect(setting.socket.frames.map(({ ackId }) => ackId)).toEqual([1])
  })

  it('each send completes with the acknowledgement that has its ackId, in any order', () => {
    setting.connect()
    send('a')
    send('b')
    setting.socket.ack(2).ack(1)
    expect(setting.log).toEqual(['b: acked 2', 'b: complete', 'a: acked 1', 'a: complete'])
  })

  it('acknowledgements of unknown ids are ignored: future ids, past ids and ids beyond 2^53', () => {
    setting.connect()
    send('a')
    setting.socket.ack(7)
    setting.socket.receive('{"type":"ack","ackId":18446744073709551615,"success":true}')
    setting.socket.ack(1).ack(1)
    expect(setting.log).toEqual(['a: acked 1', 'a: complete'])
  })

  it('without acknowledgement has no ackId and completes when the socket has taken the message', () => {
    send('a', { ack: false })
    expect(setting.log).toEqual([])
    setting.connect()
    expect(setting.socket.frames).toEqual([{ type: 'sendToGroup', group: 'line', dataType: 'json', data: 'a' }])
    expect(setting.log).toEqual(['a: acked undefined', 'a: complete'])
  })

  it('sends wait for the connection and are then sent in order', () => {
    for (const data of ['a', 'b', 'c']) send(data)
    setting.connect()
    expect(sentData()).toEqual(['a', 'b', 'c'])
  })

  it('a completed send leaves no timers behind', () => {
    setting.connect()
    const timers = setting.clock.pending
    send('a')
    setting.socket.ack(1)
    setting.clock.advance(20_000)
    expect(setting.clock.pending).toBe(timers)
  })

  it('beyond the queue limit fails', () => {
    setting = new FakeSetting({ maxQueued: 2 })
    for (const data of ['a', 'b', 'c']) send(data)
    expect(setting.log).toEqual(['c: overflow'])
    setting.connect().socket.ack(1)
    send('d')
    expect(sentData()).toEqual(['a', 'b', 'd'])
  })

  it('at most 500 sends are in flight, so that the hub remembers every ackId', () => {
    setting = new FakeSetting({ maxQueued: 1_000 }).connect()
    for (let n = 1; n <= 502; n++) send(n)
    expect(setting.socket.frames).toHaveLength(500)
    setting.socket.ack(3)
    expect(setting.socket.frames).toHaveLength(501)
  })

  it('sends without acknowledgement and joins need no slot but keep their order', () => {
    setting = new FakeSetting({ maxQueued: 1_000 }).connect()
    for (let n = 1; n <= 500; n++) send(n)
    send('free', { ack: false })
    expect(sentData().at(-1)).toBe('free')
    for (let n = 0; n < 101; n++) setting.client.group(`g${n}`).messages$.subscribe()
    expect(setting.socket.of('joinGroup')).toHaveLength(100)
    setting.socket.ack(501)
    expect(setting.socket.of('joinGroup')).toHaveLength(101)
    send('next')
    send('last', { ack: false })
    expect(sentData().at(-1)).toBe('free')
    for (let n = 502; n <= 601; n++) setting.socket.ack(n)
    setting.socket.ack(1)
    expect(sentData().slice(-2)).toEqual(['next', 'last'])
  })

  it('that would make more than 64 MiB wait fails', { tags: 'slow' }, () => {
    setting = new FakeSetting({ maxQueued: 1_000 })
    for (let n = 0; n < 64; n++) setting.client.group('line').send('x'.repeat(1_000_000)).subscribe()
    const large = () => setting.client.group('line').send('x'.repeat(1_000_000))
    const [held, over] = [large().subscribe(setting.observer('held')), setting.observer('over')]
    for (let n = 0; n < 4; n++) large().subscribe(over)
    expect(setting.log).toEqual(['over: overflow', 'over: overflow'])
    held.unsubscribe()
    large().subscribe(setting.observer('room'))
    expect(setting.log).toHaveLength(2)
  })

  it('sends wait while the socket buffer is full', () => {
    setting.connect().socket.bufferedAmount = 2 ** 20 + 1
    send('a', { ack: false })
    setting.clock.advance(100)
    expect(sentData()).toEqual([])
    setting.socket.bufferedAmount = 0
    setting.clock.advance(20)
    expect(sentData()).toEqual(['a'])
  })
})

describe('unsubscribing from a send', () => {
  it('a queued send that is unsubscribed is never sent', () => {
    send('a').unsubscribe()
    send('b')
    setting.connect()
    expect(sentData()).toEqual(['b'])
  })

  it('a sent message that is unsubscribed is not resent, and its acknowledgement is ignored', () => {
    setting.connect()
    send('a').unsubscribe()
    setting.socket.ack(1)
    send('b').unsubscribe()
    setting.recover()
    expect(setting.log).toEqual([])
    expect(sentData()).toEqual([])
  })

  it('unsubscribed sends free their slots immediately', () => {
    setting = new FakeSetting({ maxQueued: 2 })
    for (let n = 0; n < 1_000; n++) send(n).unsubscribe()
    send('a')
    setting.connect()
    expect(sentData()).toEqual(['a'])
  })
})

describe('a rejected send', () => {
  it.each(['Forbidden', 'NotFound', 'BadRequest', 'SomethingNew'])(
    'a send rejected with %s fails immediately with the name of the error',
    name => {
      const errors: unknown[] = []
      setting
        .connect()
        .client.group('line')
        .send(1)
        .subscribe({ error: error => errors.push(error) })
      setting.socket.ack(1, name)
      setting.clock.advance(15_000)
      expect(setting.socket.of('sendToGroup')).toHaveLength(1)
      expect(errors).toEqual([expect.any(PubSubRefusedError)])
      expect(errors).toMatchObject([{ code: 'pubsub-refused', hubError: { name, message: `${name}!` } }])
      expect(String(errors[0])).toBe(`PubSubRefusedError: The hub refused a send to group "line": ${name}, ${name}!`)
    },
  )

  it('InternalServerError is retried with the same ackId after growing delays', () => {
    setting.connect()
    send('a')
    setting.socket.ack(1, 'InternalServerError')
    setting.clock.advance(999)
    expect(sentData()).toEqual(['a'])
    setting.clock.advance(1)
    setting.socket.ack(1, 'InternalServerError')
    setting.clock.advance(2_000)
    expect(setting.socket.of('sendToGroup').map(({ ackId }) => ackId)).toEqual([1, 1, 1])
    setting.socket.ack(1)
    expect(setting.log).toEqual(['a: acked 1', 'a: complete'])
  })

  it('a send fails after InternalServerError has been repeated', () => {
    setting.connect()
    send('a')
    for (let attempt = 0; attempt < 4; attempt++) {
      setting.socket.ack(1, 'InternalServerError')
      setting.clock.advance(3_000)
    }
    expect(sentData()).toHaveLength(4)
    expect(setting.log).toEqual(['a: pubsub-refused'])
  })

  it('a send rejected as a duplicate succeeds', () => {
    setting.connect()
    send('a')
    setting.socket.ack(1, 'Duplicate')
    expect(setting.log).toEqual(['a: acked 1 duplicate', 'a: complete'])
  })
})

describe('sends during an outage', () => {
  it('a recovery resends unacknowledged messages with their ackIds before queued messages', () => {
    setting.connect()
    for (const data of ['a', 'b', 'c']) send(data)
    setting.socket.ack(2).drop()
    send('d')
    setting.socket.accept()
    expect(sentData()).toEqual([])
    setting.socket.pong()
    expect(setting.socket.of('sendToGroup').map(({ data, ackId }) => `${data}${ackId}`)).toEqual(['a1', 'c3', 'd4'])
    setting.socket.ack(1, 'Duplicate').ack(3).ack(4)
    expect(setting.log.filter(line => line.includes('acked'))).toEqual([
      ...['b: acked 2', 'a: acked 1 duplicate', 'c: acked 3', 'd: acked 4'],
    ])
  })

  it('after a lost session, sent messages have an unknown outcome, and queued messages are sent', () => {
    const errors: unknown[] = []
    setting
      .connect()
      .client.group('line')
      .send('a')
      .subscribe({ error: error => errors.push(error) })
    setting.socket.drop()
    send('b')
    setting.socket.drop(1008)
    expect(errors).toEqual([expect.any(OutcomeUnknownError)])
    expect(String(errors[0])).toBe(
      'OutcomeUnknownError: The outcome of a send to group "line" is unknown: the session was lost before its ' +
        'acknowledgement arrived; send it again only if it may arrive twice',
    )
    expect(setting.log).toEqual([])
    setting.socket.accept().greet()
    expect(sentData()).toEqual(['b'])
  })

  it('after a lost session, at-least-once messages are resent before queued messages', () => {
    setting.connect()
    send('a', { atLeastOnce: true })
    send('b', { atLeastOnce: true })
    setting.socket.drop()
    send('c')
    setting.socket.drop(1008)
    setting.socket.accept().greet()
    expect(sentData()).toEqual(['a', 'b', 'c'])
  })

  it('a message in flight during three session losses fails, as the message may have caused them', () => {
    setting.connect()
    send('a', { atLeastOnce: true })
    for (let session = 2; session <= 3; session++) {
      setting.beginNewSession().clock.advance(6_000)
      expect([setting.log, sentData()]).toEqual([[], ['a']])
    }
    setting.beginNewSession()
    expect(setting.log).toEqual(['a: outcome-unknown'])
    expect(sentData()).toEqual([])
  })

  it('session losses while a message is queued do not count towards the limit', () => {
    setting = new FakeSetting()
    setting.socket.accept().greet()
    for (let n = 0; n < 4; n++) {
      setting.socket.drop(1008)
      setting.clock.advance(10_000)
      if (n === 0) send('a', { atLeastOnce: true })
    }
    setting.socket.accept().greet('c3', 't3')
    expect(sentData()).toEqual(['a'])
  })

  it('a lost session does not fail a message that the hub failed to process', () => {
    setting.connect()
    send('a')
    setting.socket.ack(1, 'InternalServerError')
    setting.beginNewSession()
    setting.clock.advance(1_000)
    expect(sentData()).toEqual(['a'])
    setting.socket.ack(1)
    expect(setting.log).toEqual(['a: acked 1', 'a: complete'])
  })
})

describe('the timeout of a send', () => {
  it('a message that was never sent fails with `timeout`, and outages count towards the timeout', () => {
    send('a', { timeout: 1_000 })
    setting.clock.advance(1_000)
    setting.connect()
    expect(setting.log).toEqual(['a: timeout'])
    expect(sentData()).toEqual([])
  })

  it('a sent message without an ack fails with `outcome-unknown`', () => {
    setting.connect()
    send('a', { timeout: 1_000 })
    setting.clock.advance(1_000)
    setting.socket.ack(1)
    expect(setting.log).toEqual(['a: outcome-unknown'])
  })

  it('a message that the hub failed to process fails with `timeout`', () => {
    setting.connect()
    send('a', { timeout: 1_000 })
    setting.socket.ack(1, 'InternalServerError')
    setting.clock.advance(1_000)
    expect(setting.log).toEqual(['a: timeout'])
  })

  it('a message sent in an earlier session fails with `outcome-unknown`', () => {
    setting.connect()
    send('a', { timeout: 1_000, atLeastOnce: true })
    setting.socket.drop(1008)
    setting.clock.advance(1_000)
    expect(setting.log).toEqual(['a: outcome-unknown'])
  })

  it('the default timeout of a send is 90 s', () => {
    send('a')
    setting.clock.advance(89_999)
    expect(setting.log).toEqual([])
    setting.clock.advance(1)
    expect(setting.log).toEqual(['a: timeout'])
  })
})
