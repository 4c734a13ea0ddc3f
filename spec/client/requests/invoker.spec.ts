import { beforeEach, describe, expect, it } from 'vitest'
import type { Invoker } from '../../../src/client/requests/invoker.js'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { INVOKE_TOPIC } from '../../../src/core/protocol/topics.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import {
  ClosedError,
  ConnectionLostError,
  RequestRejectedError,
  type StateStoreError,
} from '../../../src/core/util/errors.js'
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

/** Sends a request whose outcome is logged as `name: ...`. */
function send(name: string, options: Partial<RpcRequest> = {}): () => void {
  return invoker.send({ ...loggedRequest(name, clock, log), ...options })
}

const up = (info: Partial<ConnectionInfo> = {}): void => {
  invoker.connected({ ...CONNECTION, ...info })
  invoker.ready({ ...CONNECTION, ...info })
}

const sent = (): string[] => session.published.map(({ request }) => new TextDecoder().decode(request.payload))

describe('a request', () => {
  it('waits for the connection and then goes out in the order it came', () => {
    send('a')
    send('b')
    expect(sent()).toEqual([])
    up()
    expect(sent()).toEqual(['a', 'b'])
  })

  it('carries response topic, 16 bytes of correlation data, content type and message expiry rounded up', () => {
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

  it('takes its timestamp when it is sent, not when it was queued', () => {
    send('a')
    clock.advance(5_000)
    up()
    expect(session.at(0).request.userProperties).toEqual({ __ts: String(clock.now()) })
  })

  it('gets the answer with its own correlation data, in any order', () => {
    up()
    send('a')
    send('b')
    session.reply(session.at(1), utf8('two'))
    session.reply(session.at(0), utf8('one'))
    expect(log).toEqual(['b: two', 'a: one'])
  })

  it('leaves no timer and no memory when it is answered', () => {
    up()
    send('a')
    session.reply(session.at(0), utf8('one'))
    expect({ timers: clock.pending, pending: invoker.pending }).toEqual({ timers: 0, pending: 0 })
  })

  it('ignores answers to nobody: late, doubled, of another client, of another length', () => {
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

  it('can be cancelled while it waits, and is never sent', () => {
    const cancel = send('a')
    send('b')
    cancel()
    up()
    expect(sent()).toEqual(['b'])
  })

  it('can be cancelled on the wire, and its answer is dropped', () => {
    up()
    send('a')()
    session.reply(session.at(0), utf8('one'))
    expect({ log, timers: clock.pending, pending: invoker.pending }).toEqual({ log: [], timers: 0, pending: 0 })
  })

  it('fails with what the RPC status says', () => {
    up()
    send('a')
    session.reply(session.at(0), utf8(''), { __stat: '400', __stMsg: 'bad' })
    expect(log).toEqual(['a: request-rejected'])
  })

  it('fails when its PUBACK carries a refusal', () => {
    up()
    send('a')
    session.at(0).acknowledge(new RequestRejectedError(135, 'Not authorized'))
    expect(log).toEqual(['a: request-rejected'])
  })

  it('fails before it is sent when the broker would not take a packet of its size', () => {
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

  it('fails at once with overflow when too many are held', () => {
    invoker = openInvoker(session, clock, 2)
    send('a')
    send('b')
    send('c')
    expect(log).toEqual(['c: overflow'])
  })
})

describe('time', () => {
  it('is over for what was never sent: certainly nothing happened', () => {
    send('a', { timeout: 1_000 })
    clock.advance(999)
    expect(log).toEqual([])
    clock.advance(1)
    expect(log).toEqual(['a: timeout'])
    up()
    expect(sent()).toEqual([])
  })

  it('is over for a read on the wire', () => {
    up()
    send('a', { isRepeatable: true })
    clock.advance(10_000)
    expect(log).toEqual(['a: timeout'])
  })

  it('is over for a write on the wire: the outcome is unknown, also after its PUBACK', () => {
    up()
    send('a')
    send('b')
    session.at(1).acknowledge()
    clock.advance(10_000)
    expect(log).toEqual(['a: outcome-unknown', 'b: outcome-unknown'])
  })

  it('is kept by one timer for all requests, whatever their timeouts', () => {
    send('a', { timeout: 3_000 })
    send('b', { timeout: 1_000 })
    send('c', { timeout: 2_000 })
    expect(clock.pending).toBe(1)
    clock.advance(1_000)
    clock.advance(1_000)
    clock.advance(1_000)
    expect({ log, timers: clock.pending }).toEqual({ log: ['b: timeout', 'c: timeout', 'a: timeout'], timers: 0 })
  })

  it('is told by the monotonic clock: a wall clock that jumps ends nothing', () => {
    send('a')
    clock.jump(3_600_000)
    clock.advance(9_999)
    expect(log).toEqual([])
  })
})

describe('flow control', () => {
  it('never has more unacknowledged than the broker takes', () => {
    up({ receiveMaximum: 2 })
    for (const name of ['a', 'b', 'c', 'd']) send(name)
    expect(sent()).toEqual(['a', 'b'])
    session.reply(session.at(0), utf8('one'))
    expect(sent()).toEqual(['a', 'b'])
    session.at(0).acknowledge()
    session.at(1).acknowledge()
    expect(sent()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('forgets what was unacknowledged on a connection that is gone', () => {
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

describe('what is said when the time is over', () => {
  it('names what kept the connection away', () => {
    const failures: StateStoreError[] = []
    invoker.disconnected(new ConnectionLostError('connect ECONNREFUSED 127.0.0.1:1884'))
    send('a', { failed: error => failures.push(error) })
    clock.advance(10_000)
    expect(failures).toMatchObject([
      {
        code: 'timeout',
        message: expect.stringContaining('(not connected: connect ECONNREFUSED 127.0.0.1:1884)'),
        cause: { code: 'connection-lost' },
      },
    ])
  })

  it('names nothing once there is a connection again', () => {
    const failures: StateStoreError[] = []
    invoker.disconnected(LOST)
    up()
    send('a', { isRepeatable: true, failed: error => failures.push(error) })
    clock.advance(10_000)
    expect(failures).toMatchObject([{ code: 'timeout', message: expect.not.stringContaining('connected') }])
  })
})

describe('a connection that breaks', () => {
  it('sends reads again, before what waited, in their order', () => {
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

  it('never sends a write again, and takes its answer in a resumed session', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    up({ sessionPresent: true })
    expect(sent()).toEqual(['w'])
    session.reply(session.at(0), utf8('+OK'))
    expect(log).toEqual(['w: +OK'])
  })

  it('leaves the outcome of a write unknown when the session is lost', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    up({ sessionPresent: false })
    expect({ log, sent: sent() }).toEqual({ log: ['w: outcome-unknown'], sent: ['w'] })
  })

  it('leaves the outcome of a write unknown when its time ends meanwhile', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    clock.advance(10_000)
    expect(log).toEqual(['w: outcome-unknown'])
  })

  it('does not wait for the SUBACK to give up writes of a lost session', () => {
    up()
    send('w')
    invoker.disconnected(LOST)
    invoker.connected(CONNECTION)
    expect(log).toEqual(['w: outcome-unknown'])
  })
})

describe('closing', () => {
  it('fails what waits and reads with closed, writes on the wire with an unknown outcome, and all that follows', () => {
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
