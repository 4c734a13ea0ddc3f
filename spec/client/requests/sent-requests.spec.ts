import { beforeEach, expect, it } from 'vitest'
import type { Invoker } from '../../../src/client/requests/invoker.js'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { ClosedError, ConnectionLostError, RequestRejectedError } from '../../../src/core/util/errors.js'
import { CONNECTION, FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { loggedRequest, openInvoker } from './open-invoker.js'

const LOST = new ConnectionLostError()

let session: FakeSession
let clock: ManualClock
let invoker: Invoker
let log: string[]

/** Sends a request and logs its outcome as `name: ...`. */
function send(name: string, options: Partial<RpcRequest> = {}): () => void {
  return invoker.send({ ...loggedRequest(name, clock, log), ...options })
}

function up(info: Partial<ConnectionInfo> = {}): void {
  const connection = { ...CONNECTION, receiveMaximum: 65_535, ...info }
  invoker.connected(connection)
  invoker.ready(connection)
}

const sent = (): string[] => session.published.map(({ request }) => new TextDecoder().decode(request.payload))

const UNANSWERED = 4_000
const burst = (count: number, isAcknowledged = true): (() => void)[] => {
  const cancels = Array.from({ length: count }, (_, i) => send(`${i}`))
  if (isAcknowledged) for (const { acknowledge } of Array.from(session.published)) acknowledge()
  return cancels
}

beforeEach(() => {
  session = new FakeSession()
  clock = new ManualClock()
  log = []
  invoker = openInvoker(session, clock, 65_536)
  up()
})

it('at most 4,000 requests are without a response, and each response sends a further request', () => {
  burst(10_000)
  expect(session.published).toHaveLength(UNANSWERED)
  session.reply(session.at(7), utf8('one'))
  expect(sent().slice(UNANSWERED)).toEqual(['4000'])
  expect(log).toEqual(['7: one'])
})

it('queued requests end with `timeout`, and sent writes with `outcome-unknown`', () => {
  burst(UNANSWERED + 2)
  clock.advance(10_000)
  expect(log.filter(text => text.endsWith('outcome-unknown'))).toHaveLength(UNANSWERED)
  expect(log.filter(text => text.endsWith(': timeout')).sort()).toEqual(['4000: timeout', '4001: timeout'])
})

it('requests that failed or timed out make room for later ones', () => {
  burst(UNANSWERED, false)
  send('late', { timeout: 20_000 })
  session.at(0).acknowledge(new RequestRejectedError(151, 'quota exceeded'))
  expect(sent().at(-1)).toBe('late')
  clock.advance(10_000)
  send('later')
  expect(sent().at(-1)).toBe('later')
})

it('a cancelled request counts until its response or its timeout', () => {
  const cancels = burst(UNANSWERED)
  for (const cancel of cancels) cancel()
  send('next', { timeout: 60_000 })
  expect(session.published).toHaveLength(UNANSWERED)
  session.reply(session.at(0), utf8('one'))
  expect(sent().at(-1)).toBe('next')
  send('later', { timeout: 60_000 })
  expect(sent().at(-1)).toBe('next')
  clock.advance(10_000)
  send('last', { timeout: 60_000 })
  expect({ sent: sent().slice(-2), log, pending: invoker.pending }).toEqual({
    sent: ['later', 'last'],
    log: [],
    pending: 3,
  })
})

it('a cancelled request with a long timeout does not keep the room of shorter ones', () => {
  const cancelLong = send('long', { timeout: 3_600_000 })
  for (const cancel of [cancelLong, ...burst(UNANSWERED - 1)]) cancel()
  clock.advance(10_000)
  send('next')
  clock.advance(0)
  expect(sent().at(-1)).toBe('next')
})

it('a queued request is sent as soon as a cancelled one has expired', () => {
  const cancels = burst(UNANSWERED)
  send('next', { timeout: 60_000 })
  for (const cancel of cancels) cancel()
  expect(session.published).toHaveLength(UNANSWERED)
  clock.advance(10_000)
  expect(sent().at(-1)).toBe('next')
})

it.each([
  ['cancelling the queued request', (cancel: () => void) => cancel()],
  ['a lost connection', () => invoker.disconnected(LOST)],
  ['`close`', () => invoker.close(new ClosedError())],
])('%s ends the wait for cancelled requests', (_, end) => {
  for (const cancel of burst(UNANSWERED)) cancel()
  expect(clock.pending).toBe(0)
  const cancel = send('next')
  expect(clock.pending).toBe(2)
  end(cancel)
  cancel()
  expect(clock.pending).toBe(0)
})

it('requests of an earlier connection do not count, and cancelled reads are not resent', () => {
  const cancels = burst(UNANSWERED)
  send('read', { isRepeatable: true })
  for (const cancel of cancels.slice(1)) cancel()
  invoker.disconnected(LOST)
  up({ sessionPresent: true })
  expect([sent().at(-1), invoker.pending]).toEqual(['read', 2])
})

it('a write that cannot get its response in time is not sent, and ends with `timeout`', () => {
  burst(UNANSWERED)
  clock.advance(4_000)
  session.reply(session.at(0), utf8('one'))
  send('late', { timeout: 3_000 })
  expect(sent()).toHaveLength(UNANSWERED)
  clock.advance(3_000)
  expect(log).toEqual(['0: one', 'late: timeout'])
})

it('a write is sent when its response is expected in time or few requests are unanswered', () => {
  burst(UNANSWERED)
  clock.advance(1_000)
  session.reply(session.at(0), utf8('one'))
  send('fast', { timeout: 8_000 })
  send('slow', { timeout: 1_000 })
  expect(sent().at(-1)).toBe('fast')
  for (const request of session.published.slice(1, UNANSWERED - 200)) session.reply(request, utf8('one'))
  expect(sent().at(-1)).toBe('slow')
})
