import { beforeEach, describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../../src/core/util/errors.js'
import { PubSubRefusedError } from '../../../src/pubsub/client/in-flight-request.js'
import type { SendOptions } from '../../../src/pubsub/client/send.js'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

/** Sends a number to the group `line`; logs how it goes on. */
const send = (data: unknown, options: SendOptions = {}) =>
  setting.client
    .group('line')
    .send(data, options)
    .subscribe(setting.observer(`${data}`))

const sentData = (): unknown[] => setting.socket.of('sendToGroup').map(({ data }) => data)

describe('a send', () => {
  it.each<[string, unknown, object, object]>([
    ['json by default', { a: [1] }, {}, { dataType: 'json', data: { a: [1] } }],
    ['a text as json', 'x', {}, { dataType: 'json', data: 'x' }],
    ['a text as text', 'x', { dataType: 'text' }, { dataType: 'text', data: 'x' }],
    ['bytes as binary', new Uint8Array([1, 2, 3]), {}, { dataType: 'binary', data: 'AQID' }],
    [
      'an Any as protobuf',
      new Uint8Array([10, 1, 120]),
      { dataType: 'protobuf' },
      { dataType: 'protobuf', data: 'CgF4' },
    ],
    ['without an echo', 1, { noEcho: true }, { data: 1, noEcho: true }],
  ])('has the frame of the protocol: %s', (_, data, options, members) => {
    setting.connect().client.group('line').send(data, options).subscribe()
    expect(setting.socket.frames).toEqual([
      expect.objectContaining({ type: 'sendToGroup', group: 'line', ackId: 1, ...members }),
    ])
  })

  it('of an event has its frame, too', () => {
    setting.connect().client.sendEvent('click', 7).subscribe(setting.observer('click'))
    expect(setting.socket.frames).toEqual([{ type: 'event', event: 'click', ackId: 1, dataType: 'json', data: 7 }])
    setting.socket.ack(1)
    expect(setting.log).toEqual(['click: acked 1', 'click: complete'])
  })

  it('happens once for all subscriptions, and not before', () => {
    setting.connect()
    const twice = setting.client.group('line').send('a')
    expect(setting.socket.frames).toEqual([])
    twice.subscribe()
    twice.subscribe()
    expect(setting.socket.frames.map(({ ackId }) => ackId)).toEqual([1])
  })

  it('ends with its own acknowledgement, in whatever order they come', () => {
    setting.connect()
    send('a')
    send('b')
    setting.socket.ack(2).ack(1)
    expect(setting.log).toEqual(['b: acked 2', 'b: complete', 'a: acked 1', 'a: complete'])
  })

  it('ignores acknowledgements of nothing: of the future, of the past, beyond 2^53', () => {
    setting.connect()
    send('a')
    setting.socket.ack(7)
    setting.socket.receive('{"type":"ack","ackId":18446744073709551615,"success":true}')
    setting.socket.ack(1).ack(1)
    expect(setting.log).toEqual(['a: acked 1', 'a: complete'])
  })

  it('without acknowledgement has no ackId and is done when it is handed over', () => {
    send('a', { ack: false })
    expect(setting.log).toEqual([])
    setting.connect()
    expect(setting.socket.frames).toEqual([{ type: 'sendToGroup', group: 'line', dataType: 'json', data: 'a' }])
    expect(setting.log).toEqual(['a: acked undefined', 'a: complete'])
  })

  it('waits for the connection, in order', () => {
    for (const data of ['a', 'b', 'c']) send(data)
    setting.connect()
    expect(sentData()).toEqual(['a', 'b', 'c'])
  })

  it('leaves nothing behind', () => {
    setting.connect()
    const timers = setting.clock.pending
    send('a')
    setting.socket.ack(1)
    setting.clock.advance(20_000)
    expect(setting.clock.pending).toBe(timers)
  })

  it('is not made with more than the limit waiting', () => {
    setting = new FakeSetting({ maxQueued: 2 })
    for (const data of ['a', 'b', 'c']) send(data)
    expect(setting.log).toEqual(['c: overflow'])
    setting.connect().socket.ack(1)
    send('d')
    expect(sentData()).toEqual(['a', 'b', 'd'])
  })

  it('waits while 500 are under way, so that the hub remembers every id', () => {
    setting = new FakeSetting({ maxQueued: 1_000 }).connect()
    for (let n = 1; n <= 502; n++) send(n)
    expect(setting.socket.frames).toHaveLength(500)
    setting.socket.ack(3)
    expect(setting.socket.frames).toHaveLength(501)
  })

  it('that nobody is to acknowledge needs no place among those, nor do joins, but it does not overtake', () => {
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

  it('is not made with more than 64 MiB held', { tags: 'slow' }, () => {
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

  it('waits while the socket is full', () => {
    setting.connect().socket.bufferedAmount = 2 ** 20 + 1
    send('a', { ack: false })
    setting.clock.advance(100)
    expect(sentData()).toEqual([])
    setting.socket.bufferedAmount = 0
    setting.clock.advance(20)
    expect(sentData()).toEqual(['a'])
  })
})

describe('calling off', () => {
  it('what waits: it is never sent', () => {
    send('a').unsubscribe()
    send('b')
    setting.connect()
    expect(sentData()).toEqual(['b'])
  })

  it('what is on the wire: its answer is ignored, and it is not sent again', () => {
    setting.connect()
    send('a').unsubscribe()
    setting.socket.ack(1)
    send('b').unsubscribe()
    setting.recover()
    expect(setting.log).toEqual([])
    expect(sentData()).toEqual([])
  })

  it('makes room at once, however much is called off', () => {
    setting = new FakeSetting({ maxQueued: 2 })
    for (let n = 0; n < 1_000; n++) send(n).unsubscribe()
    send('a')
    setting.connect()
    expect(sentData()).toEqual(['a'])
  })
})

describe('a send that the hub refuses', () => {
  it.each(['Forbidden', 'NotFound', 'BadRequest', 'SomethingNew'])('for %s fails at once, with the name', name => {
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
  })

  it('for InternalServerError is made again with the same id, after pauses that grow', () => {
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

  it('for InternalServerError fails when that does not end', () => {
    setting.connect()
    send('a')
    for (let attempt = 0; attempt < 4; attempt++) {
      setting.socket.ack(1, 'InternalServerError')
      setting.clock.advance(3_000)
    }
    expect(sentData()).toHaveLength(4)
    expect(setting.log).toEqual(['a: pubsub-refused'])
  })

  it('as a duplicate has succeeded', () => {
    setting.connect()
    send('a')
    setting.socket.ack(1, 'Duplicate')
    expect(setting.log).toEqual(['a: acked 1 duplicate', 'a: complete'])
  })
})

describe('an outage', () => {
  it('that is recovered repeats what has no answer, with its id and before all that waits', () => {
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

  it('that is not recovered leaves the fate of what was on the wire unknown, and sends what was not', () => {
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
        'acknowledgement came; send it again only if it may arrive twice',
    )
    expect(setting.log).toEqual([])
    setting.socket.accept().greet()
    expect(sentData()).toEqual(['b'])
  })

  it('that is not recovered repeats what may arrive twice, before all that waits', () => {
    setting.connect()
    send('a', { atLeastOnce: true })
    send('b', { atLeastOnce: true })
    setting.socket.drop()
    send('c')
    setting.socket.drop(1008)
    setting.socket.accept().greet()
    expect(sentData()).toEqual(['a', 'b', 'c'])
  })

  it('that ends three sessions fails what was on the wire in each: it may be what they were lost for', () => {
    setting.connect()
    send('a', { atLeastOnce: true })
    for (let session = 2; session <= 3; session++) {
      setting.reset().clock.advance(6_000)
      expect([setting.log, sentData()]).toEqual([[], ['a']])
    }
    setting.reset()
    expect(setting.log).toEqual(['a: outcome-unknown'])
    expect(sentData()).toEqual([])
  })

  it('that ends many sessions while it waits does not count', () => {
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

  it('that is not recovered does not harm what the hub had failed to process', () => {
    setting.connect()
    send('a')
    setting.socket.ack(1, 'InternalServerError')
    setting.reset()
    setting.clock.advance(1_000)
    expect(sentData()).toEqual(['a'])
    setting.socket.ack(1)
    expect(setting.log).toEqual(['a: acked 1', 'a: complete'])
  })
})

describe('the time of a send', () => {
  it('includes outages: what was never on the wire fails as a timeout', () => {
    send('a', { timeout: 1_000 })
    setting.clock.advance(1_000)
    setting.connect()
    expect(setting.log).toEqual(['a: timeout'])
    expect(sentData()).toEqual([])
  })

  it('ends what was on the wire with an unknown outcome', () => {
    setting.connect()
    send('a', { timeout: 1_000 })
    setting.clock.advance(1_000)
    setting.socket.ack(1)
    expect(setting.log).toEqual(['a: outcome-unknown'])
  })

  it('ends what the hub had failed to process as a timeout: nothing happened', () => {
    setting.connect()
    send('a', { timeout: 1_000 })
    setting.socket.ack(1, 'InternalServerError')
    setting.clock.advance(1_000)
    expect(setting.log).toEqual(['a: timeout'])
  })

  it('ends what was on the wire of an earlier session with an unknown outcome', () => {
    setting.connect()
    send('a', { timeout: 1_000, atLeastOnce: true })
    setting.socket.drop(1008)
    setting.clock.advance(1_000)
    expect(setting.log).toEqual(['a: outcome-unknown'])
  })

  it('is 90 s unless it is given', () => {
    send('a')
    setting.clock.advance(89_999)
    expect(setting.log).toEqual([])
    setting.clock.advance(1)
    expect(setting.log).toEqual(['a: timeout'])
  })
})
