import { describe, expect, it } from 'vitest'
import { StateStore } from '../../../src/client/connect/client.js'
import { type ErrorCode, RequestRejectedError, text } from '../../../src/client/index.js'
import { SERVICE_ERRORS } from '../../../src/core/protocol/service-errors.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { FakeSession, type Published } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { record, words } from '../../support/open-client.js'

const OK = utf8('+OK\r\n')
const VALUE = utf8('$1\r\nv\r\n')

type Answer = (session: FakeSession, to: Published) => void

const respondWith =
  (payload: string, properties: Record<string, string> = { __stat: '200' }): Answer =>
  (session, to) =>
    session.reply(to, utf8(payload), properties)

const { 'not-authorized': _ends, ...OTHERS } = SERVICE_ERRORS

/** Responses that do not end a watch, with their error codes. */
const TRANSIENT: readonly (readonly [name: string, code: ErrorCode, answer: Answer])[] = [
  ...Object.entries(OTHERS).map(
    ([code, words]) => [words, code as keyof typeof OTHERS, respondWith(`-ERR ${words}\r\n`)] as const,
  ),
  ['an unknown error text', 'service-unknown', respondWith('-ERR the moon is full\r\n')],
  ['the reply of another command', 'payload', respondWith(':7\r\n')],
  ['a payload that is not RESP3', 'payload', respondWith('hello')],
  ['an incomplete reply', 'payload', respondWith('$100\r\nv')],
  ['an empty reply', 'payload', respondWith('')],
  ['an invalid version', 'payload', respondWith('$1\r\nv\r\n', { __stat: '200', __ts: 'yesterday' })],
  ['status 400', 'request-rejected', respondWith('', { __stat: '400' })],
  ['status 500', 'request-rejected', respondWith('', { __stat: '500', __stMsg: 'out of order' })],
  ['status 505', 'request-rejected', respondWith('', { __stat: '505' })],
  ['an invalid status', 'request-rejected', respondWith('', { __stat: 'no idea' })],
  [
    'a PUBACK with quota exceeded',
    'request-rejected',
    (_, { acknowledge }) =>
      acknowledge(new RequestRejectedError(151, 'The broker rejected the request: Quota exceeded')),
  ],
  [
    'a PUBACK with no matching subscribers',
    'no-store',
    (_, { acknowledge }) =>
      acknowledge(new RequestRejectedError(16, 'The broker rejected the request: No matching subscribers')),
  ],
]

const PERMANENT: readonly (readonly [name: string, code: ErrorCode, answer: Answer])[] = [
  ['not authorized', 'not-authorized', respondWith('-ERR not authorized\r\n')],
  [
    'a PUBACK with not authorized',
    'request-rejected',
    (_, { acknowledge }) =>
      acknowledge(new RequestRejectedError(135, 'The broker rejected the request: Not authorized')),
  ],
]

function watching() {
  const session = new FakeSession()
  const clock = new ManualClock()
  const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 20_000, stopDelay: 0 })
  const errors = record(client.errors$)
  session.connect()
  const watch = (key: string) => record(client.key(key, text).entries$)
  return { session, clock, client, errors, watch }
}

describe('a watch that gets an unexpected response', () => {
  it.each(TRANSIENT)(
    'an unexpected response to a registration is reported, and the registration retried: %s',
    (_, code, answer) => {
      const { session, clock, errors, watch } = watching()
      const seen = watch('a')
      answer(session, session.at(0))
      expect(errors.values).toMatchObject([{ code }])
      clock.advance(100)
      session.reply(session.at(1), OK)
      session.reply(session.at(2), VALUE, { __stat: '200', __ts: '1:0:S' })
      expect([words(seen), seen.error]).toEqual([['set v (snapshot)'], undefined])
    },
  )

  it.each(TRANSIENT)('an unexpected response to a read is reported, and the read retried: %s', (_, code, answer) => {
    const { session, clock, errors, watch } = watching()
    const seen = watch('a')
    session.reply(session.at(0), OK)
    answer(session, session.at(1))
    expect(errors.values).toMatchObject([{ code }])
    clock.advance(100)
    session.reply(session.at(2), VALUE, { __stat: '200', __ts: '1:0:S' })
    expect([words(seen), seen.error]).toEqual([['set v (snapshot)'], undefined])
  })

  it.each(TRANSIENT)(
    'a watch keeps its last entry while unexpected responses delay its resync: %s',
    (_, _code, answer) => {
      const { session, clock, watch } = watching()
      const seen = watch('a')
      session.reply(session.at(0), OK)
      session.reply(session.at(1), VALUE, { __stat: '200', __ts: '1:0:S' })
      session.disconnect(new RequestRejectedError(0, 'gone'))
      session.connect()
      answer(session, session.at(2))
      clock.advance(100)
      session.reply(session.at(3), OK)
      session.reply(session.at(4), utf8('$1\r\nw\r\n'), { __stat: '200', __ts: '2:0:S' })
      expect(words(seen)).toEqual(['set v (snapshot)', 'set w (resync)'])
    },
  )

  it.each(PERMANENT)('a permanent rejection ends the watch: %s', (_, code, answer) => {
    const { session, errors, watch } = watching()
    const seen = watch('a')
    answer(session, session.at(0))
    // The rejection is also reported on errors$, as a watch without an error callback would otherwise fail silently.
    expect([seen.error, errors.values]).toMatchObject([{ code }, [{ code }]])
  })

  it('the pauses between retries grow to at most half a minute', () => {
    const { session, clock, watch } = watching()
    const seen = watch('a')
    const refuse = (): void => respondWith('-ERR unknown command\r\n')(session, session.at(-1))
    refuse()
    for (let minute = 0; minute < 60; minute++) {
      for (let second = 0; second < 60; second++) {
        const before = session.published.length
        clock.advance(1_000)
        if (session.published.length > before) refuse()
      }
    }
    expect(seen.error).toBeUndefined()
    expect(session.published.length).toBeGreaterThan(120)
    expect(session.published.length).toBeLessThan(60 * 4 + 12)
  })
})

describe('a thousand watches that are rejected', () => {
  it('errors$ emits at most ten errors of one code in ten seconds', () => {
    const { session, clock, errors, watch } = watching()
    for (let i = 0; i < 1_000; i++) watch(`k${i}`)
    const refuseAll = (from: number): void => {
      for (let i = from; i < session.published.length; i++)
        respondWith('-ERR unknown command\r\n')(session, session.at(i))
    }
    refuseAll(0)
    expect(errors.values).toHaveLength(10)
    const before = session.published.length
    clock.advance(10_000)
    refuseAll(before)
    expect(errors.values).toHaveLength(20)
  })

  it('errors$ still emits errors with other codes', () => {
    const { session, errors, watch } = watching()
    for (let i = 0; i < 20; i++) watch(`k${i}`)
    for (let i = 0; i < 19; i++) respondWith('-ERR unknown command\r\n')(session, session.at(i))
    respondWith('hello')(session, session.at(19))
    expect(errors.values.at(-1)).toMatchObject({ code: 'payload' })
  })
})

describe('a subscription that the broker refuses', () => {
  const NOTIFICATIONS = expect.stringContaining('/command/notify/+')
  const RESPONSES = expect.stringContaining('/command/invoke/response')
  const refused = (granted: readonly number[]) => {
    const session = new FakeSession()
    const clock = new ManualClock()
    const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 100, stopDelay: 0 })
    const [status, errors] = [record(client.status$), record(client.errors$)]
    const seen = record(client.key('a', text).entries$)
    session.granted = granted
    session.connect()
    session.granted = [1, 1]
    return { session, clock, client, status, errors, seen }
  }

  it.each([128, 131, 145, 151])(
    'no request is sent until a retry of the refused response subscription is granted: %d',
    reasonCode => {
      const { session, clock, status, errors } = refused([reasonCode, 1])
      expect([status.values, session.published.length]).toEqual([[{ state: 'connecting' }], 0])
      expect(errors.values).toMatchObject([{ code: 'request-rejected', status: reasonCode }])
      clock.advance(100)
      expect(session.subscribed.slice(1)).toEqual([[RESPONSES]])
      expect([status.values.at(-1)?.state, session.published.length]).toEqual(['connected', 1])
    },
  )

  it.each([128, 131, 145, 151])('a refused notification subscription delays only watches: %d', reasonCode => {
    const { session, clock, client, status, errors, seen } = refused([1, reasonCode])
    expect([status.values.at(-1)?.state, session.published.length]).toEqual(['connected', 0])
    record(client.key('b', text).get())
    expect(session.published).toHaveLength(1)
    expect(errors.values).toMatchObject([{ code: 'request-rejected', status: reasonCode }])
    clock.advance(100)
    expect(session.subscribed.slice(1)).toEqual([[NOTIFICATIONS]])
    expect([seen.error, session.published.length]).toEqual([undefined, 2])
  })

  it('a refused subscription is not retried after a disconnect or after close', () => {
    const lost = refused([151, 1])
    lost.session.disconnect(new RequestRejectedError(0, 'gone'))
    const closed = refused([1, 151])
    void closed.client.close()
    for (const { session, clock } of [lost, closed]) {
      expect(clock.pending).toBe(0)
      clock.advance(60_000)
      expect(session.subscribed).toHaveLength(1)
    }
  })

  it('a refusal after close is ignored', () => {
    const session = new FakeSession(true)
    const clock = new ManualClock()
    const client = new StateStore(session, { clock, timeout: 10_000, maxQueued: 100, stopDelay: 0 })
    session.granted = undefined
    session.connect()
    void client.close()
    session.suback([151, 151])
    clock.advance(60_000)
    expect([session.subscribed.length, clock.pending]).toEqual([1, 0])
  })

  it('a permanent refusal also ends watches that start later, until the next connection', () => {
    const { session, client } = refused([1, 135])
    const later = record(client.key('b', text).entries$)
    expect(later).toMatchObject({ error: { code: 'request-rejected', status: 135 } })
    session.disconnect(new RequestRejectedError(0, 'gone'))
    const waiting = record(client.key('b', text).entries$)
    session.connect()
    session.reply(session.at(0), OK)
    session.reply(session.at(1), VALUE, { __stat: '200', __ts: '1:0:S' })
    expect([words(waiting), waiting.error]).toEqual([['set v (snapshot)'], undefined])
  })

  it.each([135, 143, 162])('a permanent refusal closes the client or ends its watches: %d', reasonCode => {
    expect(refused([reasonCode, 1]).status.values.at(-1)).toMatchObject({
      state: 'closed',
      cause: { code: 'request-rejected', status: reasonCode },
    })
    expect(refused([1, reasonCode])).toMatchObject({ seen: { error: { status: reasonCode } } })
  })
})
