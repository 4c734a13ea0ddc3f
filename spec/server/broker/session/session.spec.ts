import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { subscriptionOf } from '../../../../src/server/broker/routing/router.js'
import { Session } from '../../../../src/server/broker/session/session.js'
import { fewFilters, fewTopics } from '../../../support/any-filter.js'
import { effort } from '../../../support/effort.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'

const setUp = (limit = 1e9) => {
  const budget = new MemoryBudget(limit)
  const host = {
    budget,
    lastRetainedSequence: 0,
    now: () => 0,
    evictSession: () => undefined,
    reassign: () => undefined,
  }
  const session = new Session('ann', host)
  const subscribe = (filter: string, qos: 0 | 1 | 2, id?: number) => {
    const options = { noLocal: false, retainAsPublished: false, retainHandling: 0 as const }
    return session.subscribe(subscriptionOf(session, { filter, qos, ...options }, id))
  }
  return { session, budget, subscribe }
}

describe('Session.grant', () => {
  it('the grant has the highest QoS and all identifiers after any subscription changes', () => {
    const qos = fc.constantFrom<0 | 1 | 2>(0, 1, 2)
    const change = fc.tuple(fewFilters, fc.option(qos, { nil: undefined }), fc.integer({ min: 1, max: 99 }))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), fewTopics, (changes, topic) => {
        const { session, subscribe } = setUp()
        const model = new Map<string, { qos: number; id: number }>()
        for (const [filter, wanted, id] of changes) {
          if (wanted === undefined) session.unsubscribe(filter)
          else subscribe(filter, wanted, id)
          if (wanted === undefined) model.delete(filter)
          else model.set(filter, { qos: wanted, id })
          // The grant is queried after each step to detect stale cached results.
          const matches = [...model].filter(([own]) => matchesByTheRules(own, topic)).map(([, of]) => of)
          const grant = session.grant(topic)
          expect(grant?.qos).toBe(matches.length > 0 ? Math.max(...matches.map(({ qos }) => qos)) : undefined)
          const ids = [...(grant?.subscriptionIds ?? [])].sort()
          expect(ids).toEqual(matches.map(({ id }) => id).sort())
        }
      }),
      { numRuns: effort(1_000, 200) },
    )
  })

  it('the grant of a session ignores shared subscriptions', () => {
    const { session, subscribe } = setUp()
    subscribe('$share/g/a', 2)
    expect(session.grant('a')).toBeUndefined()
    for (let i = 0; i < 20; i++) subscribe(`other/${i}`, 1)
    subscribe('$share/g/b', 2)
    expect(session.grant('b')).toBeUndefined()
    expect(session.grant('other/7')).toMatchObject({ qos: 1 })
  })

  it('the grant of a session is undefined after the session has ended', () => {
    const { session, subscribe } = setUp()
    subscribe('a', 1)
    expect(session.grant('a')).toBeDefined()
    session.end()
    expect(session.grant('a')).toBeUndefined()
  })
})

describe('received QoS 2 messages', () => {
  it('are recorded until they are released', () => {
    const { session, budget } = setUp()
    expect(session.isUnreleased(7)).toBe(false)
    expect(session.tryRememberReceived(7)).toBe(true)
    expect(session.isUnreleased(7)).toBe(true)
    expect(session.releaseReceived(7)).toBe(true)
    expect(session.isUnreleased(7)).toBe(false)
    expect(session.releaseReceived(7)).toBe(false)
    expect(budget.used).toBe(0)
  })

  it('are rejected when memory is exhausted, and forgotten when the session ends', () => {
    const { session, budget } = setUp(100)
    let remembered = 0
    while (session.tryRememberReceived(remembered + 1)) remembered++
    expect(remembered).toBeGreaterThan(0)
    expect(budget.isExceeded).toBe(false)
    session.end()
    expect(budget.used).toBe(0)
  })
})
