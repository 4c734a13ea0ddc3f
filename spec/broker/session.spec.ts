import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OfflineSessions } from '../../src/broker/offline-sessions.js'
import { Session } from '../../src/broker/session.js'
import { MOST_QUEUED_BYTES, MOST_QUEUED_MESSAGES } from '../../src/broker/session-bound.js'
import type { Content } from '../../src/packet/publish.js'

const content = (size = 1): Content => ({ payload: new Uint8Array(size), userProperties: {} })

interface Sent {
  readonly topic: string
  readonly packetId: number
  readonly again: boolean
}

/** A session with a client that takes so much, and what it was sent. */
function open(receiveMaximum = 65_535) {
  const session = new Session()
  const sent: Sent[] = []
  const resume = (): void =>
    session.resume((topic, _content, packetId, again) => sent.push({ topic, packetId, again }), receiveMaximum)
  resume()
  return { session, sent, resume }
}

describe('A session', () => {
  it('agrees with a list of what is unacknowledged, after any history', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('deliver' as const) },
      { weight: 3, arbitrary: fc.nat(20) },
      { weight: 1, arbitrary: fc.constant('reconnect' as const) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (steps, receiveMaximum) => {
        const { session, sent, resume } = open(receiveMaximum)
        /** Unacknowledged, in order, and the packet ids of those that were sent. */
        let expected: string[] = []
        const ids = new Map<string, number>()
        let number = 0
        for (const step of steps) {
          sent.length = 0
          const before = expected.slice(0, receiveMaximum)
          if (step === 'deliver') {
            expected.push(`${number}`)
            expect(session.deliver(`${number++}`, content(), true)).toBe(true)
          } else if (step === 'reconnect') {
            session.suspend()
            resume()
          } else {
            const topic = before[step % Math.max(1, before.length)]
            expect(session.acknowledge(topic === undefined ? 40_000 : (ids.get(topic) ?? 0))).toBe(topic !== undefined)
            expected = expected.filter(other => other !== topic)
          }
          const flying = expected.slice(0, receiveMaximum)
          const due = step === 'reconnect' ? flying : flying.filter(topic => !before.includes(topic))
          expect(sent.map(({ topic, again }) => [topic, again])).toEqual(due.map(topic => [topic, ids.has(topic)]))
          for (const { topic, packetId } of sent) {
            expect(ids.get(topic) ?? packetId).toBe(packetId)
            expect(packetId).toBeGreaterThan(32_767)
            ids.set(topic, packetId)
          }
          expect(new Set(flying.map(topic => ids.get(topic))).size).toBe(flying.length)
          expect(session.kept).toBe(expected.length)
        }
      }),
    )
  })

  it('keeps what is delivered while nobody is connected', () => {
    const { session, sent, resume } = open()
    session.suspend()
    session.deliver('a', content(), true)
    session.deliver('b', content(), true)
    expect(sent).toEqual([])
    resume()
    expect(sent.map(({ topic, again }) => [topic, again])).toEqual([
      ['a', false],
      ['b', false],
    ])
  })

  it('does not keep alive the memory that correlation data came in', () => {
    const { session } = open()
    const packet = new Uint8Array(65_536)
    let kept: Content | undefined
    session.deliver('a', { ...content(), correlationData: packet.subarray(0, 16) }, true)
    session.resume((_topic, again) => {
      kept = again
    }, 1)
    expect(kept?.correlationData?.buffer.byteLength).toBe(16)
  })

  it.each([
    ['messages', MOST_QUEUED_MESSAGES, 1],
    ['bytes', 9, MOST_QUEUED_BYTES / 8],
  ])('has no room for more than so many %s, until some are acknowledged', (_, count, size) => {
    const { session, sent } = open()
    const full = Array.from({ length: count }, () => session.deliver('t', content(size), true))
    expect(full.lastIndexOf(false)).toBe(count === 9 ? 8 : -1)
    expect(session.deliver('t', content(size), true)).toBe(false)
    session.acknowledge(sent[0]?.packetId ?? 0)
    expect(session.deliver('t', content(size), true)).toBe(true)
  })

  it('keeps nothing that was sent in a session that does not last, but what has to wait', () => {
    const { session, sent } = open(2)
    for (const topic of 'abcd') session.deliver(topic, content(), false)
    expect([sent.map(({ topic }) => topic), session.kept]).toEqual([['a', 'b'], 2])
    for (const { packetId } of [...sent]) session.acknowledge(packetId)
    expect([sent.map(({ topic }) => topic), session.kept]).toEqual([['a', 'b', 'c', 'd'], 2])
    for (const { packetId } of sent.slice(2)) session.acknowledge(packetId)
    expect(session.kept).toBe(0)
  })

  it('never gives out an id that is in use, however much is in flight', () => {
    const { session, sent } = open()
    for (let i = 0; i < 40_000; i++) session.deliver('t', content(), false)
    const ids = sent.map(({ packetId }) => packetId)
    expect([new Set(ids).size, Math.max(...ids) <= 65_535]).toEqual([ids.length, true])
  })
})

describe('Sessions of clients that are away', () => {
  const left = (): Session => {
    const { session } = open()
    session.deliver('t', content(), true)
    return session
  }

  it('are given back once', () => {
    const offline = new OfflineSessions()
    const session = left()
    offline.put('alice', session)
    expect([offline.take('bob'), offline.take('alice'), offline.take('alice')]).toEqual([undefined, session, undefined])
  })

  it('are not kept when there is nothing in them', () => {
    const offline = new OfflineSessions()
    offline.put('alice', left())
    offline.put('alice', new Session())
    expect(offline.take('alice')).toBeUndefined()
  })

  it('are 10,000 at most: those go that have been away longest', () => {
    const offline = new OfflineSessions()
    for (let i = 0; i < 10_002; i++) offline.put(`${i}`, left())
    expect(['0', '1', '2', '10001'].map(id => offline.take(id) !== undefined)).toEqual([false, false, true, true])
  })
})
