import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../src/node/limits/rate.js'

const SECOND = 1_000

describe('RateLimiter', () => {
  it('allows the amount of one second immediately, and delays the rest', () => {
    const rate = new RateLimiter(100)
    rate.charge(100, 0)
    expect(rate.wait(0)).toBe(0)
    rate.charge(50, 0)
    expect(rate.wait(0)).toBe(500)
    expect(rate.wait(400)).toBe(100)
  })

  it('accumulates no more than the amount of one second while idle', () => {
    const rate = new RateLimiter(100)
    rate.charge(1, 0)
    rate.charge(200, 3_600_000)
    expect(rate.wait(3_600_000)).toBe(SECOND)
  })

  it('returns the amount that is available before a pause', () => {
    const rate = new RateLimiter(100)
    expect(rate.available(0)).toBe(100)
    rate.charge(130, 0)
    expect(rate.available(0)).toBeCloseTo(-30)
    expect(rate.available(800)).toBeCloseTo(50)
    expect(new RateLimiter(Number.POSITIVE_INFINITY).available(0)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is idle when its full allowance is available again', () => {
    const rate = new RateLimiter(100)
    expect(rate.isIdle(0)).toBe(true)
    rate.charge(50, 0)
    expect([rate.isIdle(499), rate.isIdle(500)]).toEqual([false, true])
  })

  it('delays nothing with an infinite rate', () => {
    const rate = new RateLimiter(Number.POSITIVE_INFINITY)
    rate.charge(1e12, 5)
    expect(rate.wait(5)).toBe(0)
  })

  it('enforces its rate for callers that wait as requested', () => {
    const amounts = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), amounts, (perSecond, amounts) => {
        const rate = new RateLimiter(perSecond)
        let [now, sum] = [0, 0]
        for (const amount of amounts) {
          now += rate.wait(now)
          rate.charge(amount, now)
          expect(sum).toBeLessThanOrEqual(perSecond + (perSecond * now) / SECOND + 1e-6)
          sum += amount
        }
      }),
    )
  })
})
