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
  it('a cached reply is found until its request expires', () => {
    const cache = new ReplyCache()
    cache.add(origin('1', 2), 1_000, { type: 'ok' }, undefined)
    cache.add(origin('2'), 1_000, { type: 'refused' }, undefined)
    expect(cache.find(origin('1'), 2_999)?.reply).toEqual({ type: 'ok' })
    expect(cache.find(origin('1'), 3_000)).toBeUndefined()
    expect(cache.find(origin('2'), Number.MAX_SAFE_INTEGER)?.reply).toEqual({ type: 'refused' })
  })

  it('the cache is bounded in bytes and drops the oldest replies', { tags: 'slow' }, () => {
    const countFound = (size: number, count: number): number => {
      const cache = new ReplyCache()
      for (let i = 0; i < count; i++) cache.add(origin(`${i}`.padStart(size)), 0, { type: 'ok' }, undefined)
      const found = Array.from({ length: count }, (_, i) => cache.find(origin(`${i}`.padStart(size)), 0) !== undefined)
      expect(found.lastIndexOf(false)).toBe(found.indexOf(true) - 1)
      return found.filter(Boolean).length
    }
    expect(countFound(60_000, 400)).toBeLessThan(150)
    const many = countFound(8, 300_000)
    expect(many).toBeGreaterThan(100_000)
    expect(many).toBeLessThan(280_000)
  })

  it('another split of the same bytes into client id and correlation data finds no reply', () => {
    const cache = new ReplyCache()
    cache.add({ ...origin('c'), clientId: 'ab' }, 0, { type: 'ok' }, undefined)
    expect(cache.find({ ...origin('bc'), clientId: 'a' }, 0)).toBeUndefined()
  })
})
