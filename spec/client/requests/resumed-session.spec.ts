import { beforeEach, describe, expect, it } from 'vitest'
import type { Invoker } from '../../../src/client/requests/invoker.js'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import type { Clock } from '../../../src/core/util/clock.js'
import { ClosedError, ConnectionLostError } from '../../../src/core/util/errors.js'
import { CONNECTION, FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { loggedRequest, openInvoker } from './open-invoker.js'

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

const clockOf = (manual: ManualClock): Clock => ({
  now: () => manual.now(),
  monotonic: () => manual.monotonic(),
  schedule: (delay, task) => manual.schedule(delay, task),
})

const up = (info: Partial<ConnectionInfo> = {}): void => {
  invoker.connected({ ...CONNECTION, ...info })
  invoker.ready({ ...CONNECTION, ...info })
}

const sent = (): string[] => session.published.map(({ request }) => new TextDecoder().decode(request.payload))

describe('a kept session', () => {
  const inquiry =
    (name: string): NonNullable<RpcRequest['inquiry']> =>
    () => ({
      payload: utf8(`GET ${name}`),
      userProperties: () => ({}),
    })
  const write = (name: string, subject: string, options: Partial<RpcRequest> = {}): (() => void) =>
    send(name, { subject, inquiry: inquiry(subject), ...options })
  const again = (): void => {
    invoker.disconnected(LOST)
    up({ sessionPresent: true })
  }

  it('a sent write gets its response before the inquiry about its key is sent', () => {
    up()
    write('w', 'k')
    again()
    expect(sent()).toEqual(['w', 'GET k'])
    session.reply(session.at(0), utf8('done'))
    session.reply(session.at(1), utf8('value'))
    expect(log).toEqual(['w: done'])
    expect(clock.pending).toBe(0)
  })

  it('a sent write is `outcome-unknown` once an inquiry about its key gets its response', () => {
    up()
    write('w', 'k')
    again()
    session.reply(session.at(1), utf8('value'))
    session.reply(session.at(0), utf8('done'))
    expect(log).toEqual(['w: outcome-unknown'])
    expect([clock.pending, invoker.pending]).toEqual([0, 0])
  })

  it('responses for other keys do not settle a sent write', () => {
    up()
    write('w', 'k')
    again()
    send('other', { subject: 'l', isRepeatable: true })
    session.reply(session.at(2), utf8('value'))
    expect(log).toEqual(['other: value'])
    session.reply(session.at(0), utf8('done'))
    expect(log).toEqual(['other: value', 'w: done'])
  })

  it('a later response to the application for the same key settles a sent write', () => {
    up()
    write('w', 'k')
    again()
    send('read', { subject: 'k', isRepeatable: true })
    session.reply(session.at(2), utf8('value'))
    expect(log).toEqual(['w: outcome-unknown', 'read: value'])
  })

  it('the invoker sends one inquiry per key on each connection, ahead of queued requests', () => {
    up()
    write('w1', 'k')
    write('w2', 'k')
    write('w3', 'l')
    invoker.disconnected(LOST)
    send('waits')
    up({ sessionPresent: true })
    expect(sent().slice(3)).toEqual(['GET k', 'GET l', 'waits'])
    again()
    expect(sent().slice(6)).toEqual(['GET k', 'GET l'])
    session.reply(session.at(6), utf8('value'))
    expect(log).toEqual(['w1: outcome-unknown', 'w2: outcome-unknown'])
    expect(invoker.pending).toBe(2)
  })

  it('a response to a request of the earlier connection settles no other write', () => {
    up()
    write('w1', 'k')
    write('w2', 'k')
    again()
    session.reply(session.at(1), utf8('done'))
    expect(log).toEqual(['w2: done'])
    session.reply(session.at(0), utf8('done'))
    expect(log).toEqual(['w2: done', 'w1: done'])
  })

  it('an unanswered inquiry triggers a connection check and leaves no timer or request', () => {
    up()
    write('w', 'k', { timeout: 1_000 })
    again()
    clock.advance(1_000)
    expect(log).toEqual(['w: outcome-unknown'])
    expect([clock.pending, invoker.pending]).toEqual([0, 0])
    expect(session.verifications).toBeGreaterThan(0)
  })

  it('the callback of a failed write may close the invoker', () => {
    up()
    write('w', 'k', { failed: () => invoker.close(new ClosedError()) })
    again()
    send('read', { subject: 'k', isRepeatable: true })
    session.reply(session.at(2), utf8('value'))
    expect(log).toEqual(['read: closed'])
  })
})

describe('a blocked event loop', () => {
  it('the invoker reads responses that have arrived before requests time out', () => {
    const turns: (() => void)[] = []
    invoker = openInvoker(session, { ...clockOf(clock), afterInput: task => void turns.push(task) })
    up()
    send('read', { timeout: 100, isRepeatable: true })
    send('answered', { timeout: 100 })
    send('unanswered', { timeout: 100 })
    clock.advance(5_000)
    expect(log).toEqual([])
    session.reply(session.at(1), utf8('done'))
    for (const turn of turns) turn()
    expect(log).toEqual(['answered: done', 'read: timeout', 'unanswered: outcome-unknown'])
    expect([clock.pending, invoker.pending]).toEqual([0, 0])
  })

  it('the invoker keeps reading while data arrives, for as long as the timers were delayed', () => {
    const turns: (() => void)[] = []
    let late = 0
    const { schedule, monotonic, now } = clockOf(clock)
    const blocked = { now, schedule, monotonic: () => monotonic() + late }
    invoker = openInvoker(session, { ...blocked, afterInput: task => void turns.push(task) })
    const turn = (bytes: number): void => {
      session.received += bytes
      for (const task of turns.splice(0)) task()
    }
    up()
    for (const name of ['first', 'second', 'third']) send(name, { timeout: 100 })
    late = 1_000
    clock.advance(100)
    turn(10)
    clock.advance(20)
    session.reply(session.at(1), utf8('done'))
    turn(10)
    clock.advance(900)
    turn(10)
    expect(log).toEqual(['second: done'])
    clock.advance(100)
    turn(10)
    expect(log).toEqual(['second: done', 'first: outcome-unknown', 'third: outcome-unknown'])
    expect([clock.pending, invoker.pending]).toEqual([0, 0])
  })

  it('an unsent request times out at once, a resent read only after pending input', () => {
    const turns: (() => void)[] = []
    invoker = openInvoker(session, { ...clockOf(clock), afterInput: task => void turns.push(task) })
    send('waits', { timeout: 100 })
    clock.advance(5_000)
    expect(log).toEqual(['waits: timeout'])
    up()
    send('read', { timeout: 100, isRepeatable: true })
    clock.advance(5_000)
    invoker.disconnected(LOST)
    up()
    for (const turn of turns) turn()
    expect(log).toEqual(['waits: timeout', 'read: timeout'])
    expect(invoker.pending).toBe(0)
  })
})
