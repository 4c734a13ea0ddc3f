import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { NO_QUOTAS, QuotaAccounts } from '../../../../src/server/broker/limits/quota-accounts.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import { MAX_HASHED_LENGTH } from '../../../../src/server/broker/routing/filter-trie.js'
import { RetainedMessages, retainedBytesOf } from '../../../../src/server/broker/routing/retained-messages.js'
import { fewFilters, fewTopics } from '../../../support/any-filter.js'
import { effort } from '../../../support/effort.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import { messageOf } from '../support.js'

const messagesOf = (found: Iterable<Message | undefined>): Message[] => Array.from(found).flatMap(each => each ?? [])

const USUAL = { ...LIMIT }

const open = (limit = 1e9) => {
  const budget = new MemoryBudget(limit)
  return {
    budget,
    retained: new RetainedMessages(budget, { retained: LIMIT.retainedMessages, retainedBytes: LIMIT.retainedBytes }),
  }
}

describe('RetainedMessages', () => {
  it('a search that finds no message pauses after a bounded number of levels', () => {
    const { retained } = open()
    const [topics, levels] = [50, 90]
    for (let i = 0; i < topics; i++) retained.set(messageOf(`${i}/${'a/'.repeat(levels - 2)}z`), 0)
    const search = retained.match(`${'+/'.repeat(levels - 1)}other`, 0)
    let pauses = 0
    while (!search.next().done) pauses++
    expect(pauses).toBeGreaterThan((topics * levels) / 512)
    expect(messagesOf(retained.match(`${'+/'.repeat(levels - 1)}z`, 0))).toHaveLength(topics)
  })

  it('one operation removes a bounded number of expired messages, and none of them matches', () => {
    const { retained } = open()
    for (let i = 0; i < 300; i++) retained.set(messageOf(`a/${i}`, { expiresAt: 10 }), 0)
    expect(messagesOf(retained.match('#', 10))).toHaveLength(0)
    expect(retained.count).toBeGreaterThan(0)
    for (let i = 0; i < 4; i++) retained.set(messageOf('b'), 10)
    expect(retained.count).toBe(1)
  })

  afterEach(() => {
    Object.assign(LIMIT, USUAL)
  })

  it('match returns the last message per topic, and the budget counts stored messages', () => {
    const change = fc.tuple(fewTopics, fc.option(fc.string({ minLength: 1 }), { nil: undefined }))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), fewFilters, (changes, filter) => {
        const { retained, budget } = open()
        const model = new Map<string, string>()
        for (const [topic, text] of changes) {
          if (text === undefined) retained.delete(topic)
          else expect(retained.set(messageOf(topic, { text }), 0)).toBe(true)
          if (text === undefined) model.delete(topic)
          else model.set(topic, text)
        }
        const expected = [...model].filter(([topic]) => matchesByTheRules(filter, topic))
        const found = messagesOf(retained.match(filter, 0)).map(({ topic, content }) => [
          topic,
          new TextDecoder().decode(content.payload),
        ])
        expect(found.sort()).toEqual(expected.sort())
        expect(retained.count).toBe(model.size)
        expect(budget.used).toBe(
          [...model].reduce((sum, [topic, text]) => sum + retainedBytesOf(messageOf(topic, { text })), 0),
        )
        for (const topic of model.keys()) retained.delete(topic)
        expect(budget.used).toBe(0)
      }),
      { numRuns: effort(1_000, 200) },
    )
  })

  it('match omits messages that are stored or deleted while its result is taken', () => {
    const { retained } = open()
    for (const topic of ['a', 'b', 'c/d', 'c/e']) retained.set(messageOf(topic), 0)
    const matching = retained.match('#', 0)
    expect(matching.next().value?.topic).toBe('a')
    for (const topic of ['b', 'c/f', 'g']) retained.set(messageOf(topic, { text: 'new' }), 0)
    retained.delete('c/d')
    expect(messagesOf(matching).map(({ topic }) => topic)).toEqual(['c/e'])
  })

  it('the budget counts the memory of topics with many levels', () => {
    const { retained, budget } = open(10_000)
    expect(retained.set(messageOf('a'.repeat(99)), 0)).toBe(true)
    expect(retained.set(messageOf('/'.repeat(99)), 0)).toBe(false)
    retained.delete('a'.repeat(99))
    expect(budget.used).toBe(0)
  })

  it('a retained message is removed when it expires', () => {
    const { retained, budget } = open()
    retained.set(messageOf('a', { expiresAt: 1_000 }), 0)
    retained.set(messageOf('b'), 0)
    expect([...retained.match('+', 999)]).toHaveLength(2)
    expect(messagesOf(retained.match('+', 1_000)).map(({ topic }) => topic)).toEqual(['b'])
    expect(retained.count).toBe(1)
    expect(budget.used).toBe(retainedBytesOf(messageOf('b')))
  })

  it('a retained message beyond the limit is rejected, unless it replaces another message', () => {
    Object.assign(LIMIT, { retainedMessages: 2 })
    const { retained } = open()
    expect(['a', 'b', 'c'].map(topic => retained.set(messageOf(topic), 0))).toEqual([true, true, false])
    expect(retained.set(messageOf('a', { text: 'anew' }), 0)).toBe(true)
  })

  it('expired messages do not count towards the limit', () => {
    Object.assign(LIMIT, { retainedMessages: 2 })
    const { retained } = open()
    for (const topic of ['a', 'b']) retained.set(messageOf(topic, { expiresAt: 100 }), 0)
    expect(retained.set(messageOf('c'), 100)).toBe(true)
  })

  it("expired messages count towards neither the byte limit nor the publisher's quota", () => {
    const [size, account] = [
      retainedBytesOf(messageOf('a')),
      new QuotaAccounts(NO_QUOTAS, () => 0).of(undefined, '192.0.2.1'),
    ]
    Object.assign(LIMIT, { retainedBytes: 3 * size })
    const { retained, budget } = open()
    for (const topic of ['a', '$b']) retained.set(messageOf(topic, { expiresAt: 100 }), 0, account)
    expect(retained.set(messageOf('c', { text: 'x'.repeat(size + 1) }), 99)).toBe(false)
    expect(retained.set(messageOf('c', { text: 'x'.repeat(size + 1) }), 100)).toBe(true)
    expect([retained.count, account?.retained.used, retained.bytes - budget.used]).toEqual([1, 0, 0])
  })

  it('a retained message without expiry or with a later expiry replaces an expiring message', () => {
    const { retained } = open()
    retained.set(messageOf('a', { expiresAt: 100 }), 0)
    retained.set(messageOf('a'), 0)
    retained.set(messageOf('b', { expiresAt: 100 }), 0)
    retained.set(messageOf('b', { expiresAt: 300 }), 0)
    expect([...retained.match('#', 200)]).toHaveLength(2)
    expect([...retained.match('#', 300)]).toHaveLength(1)
  })

  it('a retained message beyond the memory budget is rejected, and the previous message is kept', () => {
    const { retained, budget } = open(retainedBytesOf(messageOf('a')))
    expect(retained.set(messageOf('a'), 0)).toBe(true)
    expect(retained.set(messageOf('a', { text: 'longer' }), 0)).toBe(false)
    expect(retained.set(messageOf('b'), 0)).toBe(false)
    expect(messagesOf(retained.match('#', 0)).map(({ topic }) => topic)).toEqual(['a'])
    expect(budget.isExceeded).toBe(false)
  })

  it('a retained message whose topic has levels too long to compare in constant time is rejected', () => {
    const { retained } = open()
    expect(retained.set(messageOf('x'.repeat(MAX_HASHED_LENGTH + 1)), 0)).toBe(false)
  })
})
