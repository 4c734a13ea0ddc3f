import { describe, expect, it } from 'vitest'
import type { Origin } from '../../../src/server/engine/entry.js'
import { ReplyCache } from '../../../src/server/engine/reply-cache.js'

const origin = (id: string, messageExpiry?: number): Origin => ({
  clientId: 'alice',
  correlationData: new TextEncoder().encode(id),
  dup: false,
  messageExpiry,
})

describe('Cached replies', () => {
  it('a reply is found until its request expires', () => {
    const answered = new ReplyCache()
    answered.add(origin('1', 2), 1_000, { type: 'ok' }, undefined)
    answered.add(origin('2'), 1_000, { type: 'refused' }, undefined)
    expect(answered.find(origin('1'), 2_999)?.reply).toEqual({ type: 'ok' })
    expect(answered.find(origin('1'), 3_000)).toBeUndefined()
    expect(answered.find(origin('2'), Number.MAX_SAFE_INTEGER)?.reply).toEqual({ type: 'refused' })
  })

  it('the cache is bounded in bytes and drops the oldest replies', { tags: 'slow' }, () => {
    const kept = (size: number, count: number): number => {
      const answered = new ReplyCache()
      for (let i = 0; i < count; i++) answered.add(origin(`${i}`.padStart(size)), 0, { type: 'ok' }, undefined)
      const found = Array.from(
        { length: count },
        (_, i) => answered.find(origin(`${i}`.padStart(size)), 0) !== undefined,
      )
      expect(found.lastIndexOf(false)).toBe(found.indexOf(true) - 1)
      return found.filter(Boolean).length
    }
    expect(kept(60_000, 400)).toBeLessThan(150)
    const many = kept(8, 300_000)
    expect(many).toBeGreaterThan(100_000)
    expect(many).toBeLessThan(280_000)
  })

  it('a client id and correlation data are not confused', () => {
    const answered = new ReplyCache()
    answered.add({ ...origin('c'), clientId: 'ab' }, 0, { type: 'ok' }, undefined)
    expect(answered.find({ ...origin('bc'), clientId: 'a' }, 0)).toBeUndefined()
  })
})
