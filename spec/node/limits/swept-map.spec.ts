import { describe, expect, it } from 'vitest'
import { KeyedRateLimiter } from '../../../src/node/limits/rate.js'
import { SweptMap } from '../../../src/node/limits/swept-map.js'

describe('SweptMap', () => {
  it('adds an entry once', () => {
    const map = new SweptMap<object>(() => false)
    const entry = {}
    expect(map.getOrAdd('a', 0, () => entry)).toBe(entry)
    expect(map.getOrAdd('a', 0, () => ({}))).toBe(entry)
    expect([map.size, ...map.values()]).toEqual([1, entry])
  })

  it('removes dead entries before their number doubles, and keeps all others', () => {
    const map = new SweptMap<{ readonly endsAt: number }>(({ endsAt }, now) => endsAt <= now)
    for (let n = 0; n < 3_000; n++) map.getOrAdd(`live ${n}`, n, () => ({ endsAt: 1e6 }))
    for (let n = 0; n < 100_000; n++) map.getOrAdd(`short ${n}`, n, () => ({ endsAt: n + 1 }))
    expect(map.size).toBeLessThan(2 * 3_001)
    const live = Array.from(map.values()).filter(({ endsAt }) => endsAt === 1e6)
    expect(live).toHaveLength(3_000)
  })

  it('examines each entry a constant number of times for each addition', () => {
    let examined = 0
    const map = new SweptMap<number>(() => {
      examined++
      return false
    })
    for (let n = 0; n < 100_000; n++) map.getOrAdd(`${n}`, 0, () => n)
    expect(examined).toBeLessThan(200_000)
  })
})

describe('KeyedRateLimiter', () => {
  it('keeps the limiter of a name until its whole burst is available again', () => {
    const rates = new KeyedRateLimiter(10, 60_000)
    rates.of('a', 0).charge(600, 0)
    for (let n = 0; n < 5_000; n++) rates.of(`other ${n}`, 59_999)
    expect(rates.of('a', 59_999).isIdle(59_999)).toBe(false)
    expect(rates.of('a', 0).available(0)).toBe(0)
    for (let n = 0; n < 5_000; n++) rates.of(`later ${n}`, 60_000)
    expect(rates.of('a', 60_000).available(60_000)).toBe(600)
  })
})
