import { beforeEach, describe, expect, it } from 'vitest'
import type { Invoker } from '../../../src/client/requests/invoker.js'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { ClosedError, ConnectionLostError, RequestRejectedError } from '../../../src/core/util/errors.js'
import { CONNECTION, FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { loggedRequest, openInvoker, RESPONSE_TOPIC } from './open-invoker.js'

const LOST = new ConnectionLostError()

let session: FakeSession
let clock: ManualClock
let invoker: Invoker
let log: string[]

beforeEach(() => {
  session = new FakeSession()
  clock = new ManualClock()
  log = []
  invoker = openInvoker(session, clock)
})

/** Sends a request and logs its outcome as `name: ...`. */
function send(name: string, options: Partial<RpcRequest> = {}): () => void {
  return invoker.send({ ...loggedRequest(name, clock, log), ...options })
}

const up = (info: Partial<ConnectionInfo> = {}): void => {
  invoker.connected({ ...CONNECTION, ...info })
  invoker.ready({ ...CONNECTION, ...info })
}

const sent = (): string[] => session.published.map(({ request }) => new TextDecoder().decode(request.payload))

describe('a request', () => {
  it('requests wait for the connection and are then sent in order', () => {
    send('a')
    send('b')
    expect(sent()).toEqual([])
    up()
    expect(sent()).toEqual(['a', 'b'])
  })

  it('has its response topic, 16-byte correlation data, a content type and a rounded expiry', () => {
    send('a', { timeout: 1_500 })
    clock.advance(100)
    up()
    expect(session.at(0).request).toMatchObject({
      topic: INVOKE_TOPIC,
      responseTopic: 'clients/me/response',
      contentType: 'application/octet-stream',
      messageExpiry: 2,
    })
    expect(session.at(0).request.correlationData).toHaveLength(16)
  })

  it('the timestamp of a request is the time at which the request is sent', () => {
    send('a')
    clock.advance(5_000)
    up()
    expect(session.at(0).request.userProperties).toEqual({ __ts: String(clock.now()) })
  })

  it('that cannot be encoded fails alone, and the requests after it are sent', () => {
    const publish = session.publish.bind(session)
    session.publish = (request, done) => {
      session.sizeOf(request)
      publish(request, done)
    }
    const tooLong = { userProperties: () => ({ long: 'x'.repeat(65_536) }) }
    send('queued', tooLong)
    send('a')
    up({ receiveMaximum: 2 })
    send('first', tooLong)
    send('second', tooLong)
    send('b')
    expect(log).toEqual(['queued: argument', 'first: argument', 'second: argument'])
    expect(sent()).toEqual(['a', 'b'])
    expect(invoker.pending).toBe(2)
  })

  it('responses are matched with requests by correlation data, in any order', () => {
    up()
    send('a')
    send('b')
    session.reply(session.at(1), utf8('two'))
    session.reply(session.at(0), utf8('one'))
    expect(log).toEqual(['b: two', 'a: one'])
  })

  it('a completed request leaves no timer and no memory behind', () => {
    up()
    send('a')
    session.reply(session.at(0), utf8('one'))
    expect({ timers: clock.pending, pending: invoker.pending }).toEqual({ timers: 0, pending: 0 })
  })

  it('late, duplicate and foreign responses and wrong correlation data are ignored', () => {
    up()
    send('a')
    const { request } = session.at(0)
    const foreign = request.correlationData.map(byte => byte ^ 1)
    session.receive(RESPONSE_TOPIC, utf8('x'), {}, foreign)
    session.receive(RESPONSE_TOPIC, utf8('x'), {}, request.correlationData.subarray(1))
    session.receive(RESPONSE_TOPIC, utf8('x'))
    session.reply(session.at(0), utf8('one'))
    session.reply(session.at(0), utf8('one'))
    expect(log).toEqual(['a: one'])
  })

  it('a cancelled queued request is not sent', () => {
    const cancel = send('a')
    send('b')
    cancel()
    up()
    expect(sent()).toEqual(['b'])
  })

  it('the response to a cancelled request is dropped', () => {
    up()
    send('a')()
    session.reply(session.at(0), utf8('one'))
    expect({ log, timers: clock.pending, pending: invoker.pending }).toEqual({ log: [], timers: 0, pending: 0 })
  })

  it('an RPC error status fails the request', () => {
    up()
    send('a')
    session.reply(session.at(0), utf8(''), { __stat: '400', __stMsg: 'bad' })
    expect(log).toEqual(['a: request-rejected'])
  })

  it('a reason code of refusal in PUBACK fails the request', () => {
    up()
    send('a')
    session.at(0).acknowledge(new RequestRejectedError(135, 'Not authorized'))
    expect(log).toEqual(['a: request-rejected'])
  })

  it("that exceeds the broker's packet size fails before it is sent", () => {
    up()
    send('measured', { payload: new Uint8Array(900) })
    const size = session.sizeOf(session.at(0).request)
    session.disconnect(LOST)
    up({ maximumPacketSize: size })
    send('just', { payload: new Uint8Array(900) })
    send('large', { payload: new Uint8Array(901) })
    send('small')
    expect({ log, sent: session.published.map(({ request }) => request.payload.length) }).toEqual({
      log: ['measured: outcome-unknown', 'large: argument'],
      sent: [900, 900, 5],
    })
  })

  it('beyond the limit fails immediately with `overflow`', () => {
    invoker = openInvoker(session, clock, 2)
    send('a')
    send('b')
    send('c')
    expect(log).toEqual(['c: overflow'])
  })
})

describe('timeouts', () => {
  it('a request that was not sent times out with `timeout`, as it had no effect', () => {
    send('a', { timeout: 1_000 })
    clock.advance(999)
    expect(log).toEqual([])
    clock.advance(1)
    expect(log).toEqual(['a: timeout'])
    up()
    expect(sent()).toEqual([])
  })

  it('a sent read times out with `timeout`', () => {
    up()
    send('a', { isRepeatable: true })
    clock.advance(10_000)
    expect(log).toEqual(['a: timeout'])
  })

  it('a sent write times out with `outcome-unknown`, even after its PUBACK', () => {
    up()
    send('a')
    send('b')
    session.at(1).acknowledge()
    clock.advance(10_000)
    expect(log).toEqual(['a: outcome-unknown', 'b: outcome-unknown'])
  })

  it('all requests share one timer', () => {
    send('a', { timeout: 3_000 })
    send('b', { timeout: 1_000 })
    send('c', { timeout: 2_000 })
    expect(clock.pending).toBe(1)
    clock.advance(1_000)
    clock.advance(1_000)
    clock.advance(1_000)
    expect({ log, timers: clock.pending }).toEqual({ log: ['b: timeout', 'c: timeout', 'a: timeout'], timers: 0 })
  })

  it('after a blocked event loop, a ready connection sends no request past its deadline', () => {
    send('a', { timeout: 300 })
    send('b')
    clock.block(300)
    up()
    expect({ sent: sent(), log }).toEqual({ sent: ['b'], log: ['a: timeout'] })
    clock.advance(10_000)
    expect({ log, timers: clock.pending }).toEqual({ log: ['a: timeout', 'b: outcome-unknown'], timers: 0 })
  })

  it('after a blocked event loop, a PUBACK releases no request past its deadline', () => {
    up({ receiveMaximum: 1 })
    send('a')
    send('b', { timeout: 300 })
    send('c', { timeout: 301 })
    clock.block(300)
    session.at(0).acknowledge()
    expect({ sent: sent(), log }).toEqual({ sent: ['a', 'c'], log: ['b: timeout'] })
  })

  it('a jump of the wall clock does not time out requests', () => {
    send('a')
    clock.jump(3_600_000)
    clock.advance(9_999)
    expect(log).toEqual([])
  })
})

describe('flow control', () => {
  it('unacknowledged requests never exceed the receive maximum', () => {
    up({ receiveMaximum: 2 })
    for (const name of ['a', 'b', 'c', 'd']) send(name)
    expect(sent()).toEqual(['a', 'b'])
    session.reply(session.at(0), utf8('one'))
    expect(sent()).toEqual(['a', 'b'])
    session.at(0).acknowledge()
    session.at(1).acknowledge()
    expect(sent()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('the count of unacknowledged requests restarts on each connection', () => {
    up({ receiveMaximum: 1 })
    send('a')
    const lost = session.at(0)
    invoker.disconnected(LOST)
    up({ receiveMaximum: 1, sessionPresent: true })
    send('b')
    send('c')
    lost.acknowledge()
    expect(sent()).toEqual(['a', 'b'])
  })
})

describe('a request that is bound to its connection', () => {
  const bound = { isBoundToConnection: true }

  it('a bound request fails if the connection is lost before sending, and others wait', () => {
    up({ receiveMaximum: 1 })
    send('a', bound)
    send('b', bound)
    send('c')
    invoker.disconnected(LOST)
    expect(log).toEqual(['b: connection-lost'])
    up({ sessionPresent: true })
    expect(sent()).toEqual(['a', 'c'])
  })

  it('a bound request fails immediately without a connection', () => {
    send('a', bound)
    invoker.disconnected(LOST)
    send('b', bound)
    up()
    expect({ sent: sent(), log }).toEqual({ sent: [], log: ['a: connection-lost', 'b: connection-lost'] })
  })
})

describe('a lost connection', () => {
  it('reads are resent in order, ahead of queued requests', () => {
    up()
    send('r1', { isRepeatable: true })
    send('r2', { isRepeatable: true })
    invoker.disconnected(LOST)
    send('w')
    up()
    expect(sent()).toEqual(['r1', 'r2', 'r1', 'r2', 'w'])
    session.reply(session.at(2), utf8('value'))
    expect(log).toEqual(['r1: value'])
  })

  it('a write is not resent, and gets its response in a resumed session', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    up({ sessionPresent: true })
    expect(sent()).toEqual(['w'])
    session.reply(session.at(0), utf8('+OK'))
    expect(log).toEqual(['w: +OK'])
  })

  it('a sent write is `outcome-unknown` when the session is lost', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    up({ sessionPresent: false })
    expect({ log, sent: sent() }).toEqual({ log: ['w: outcome-unknown'], sent: ['w'] })
  })

  it('a sent write is `outcome-unknown` when it times out while disconnected', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    clock.advance(10_000)
    expect(log).toEqual(['w: outcome-unknown'])
  })

  it('sent writes fail before SUBACK when the session is lost', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    invoker.connected(CONNECTION)
    expect(log).toEqual(['w: outcome-unknown'])
  })
})

describe('closing', () => {
  it('close fails reads and queued requests as `closed`, sent writes as `outcome-unknown`', () => {
    up({ receiveMaximum: 2 })
    send('w')
    send('r', { isRepeatable: true })
    send('waiting')
    invoker.close(new ClosedError())
    send('late')
    expect(log).toEqual(['w: outcome-unknown', 'r: closed', 'waiting: closed', 'late: closed'])
    expect(clock.pending).toBe(0)
  })
})
