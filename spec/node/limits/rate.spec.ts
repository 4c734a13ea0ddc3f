import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../src/node/limits/rate.js'

const SECOND = 1_000

describe('Rate', () => {
  it('lets a second’s worth through at once, and makes wait for the rest', () => {
    const rate = new RateLimiter(100)
    rate.charge(100, 0)
    expect(rate.wait(0)).toBe(0)
    rate.charge(50, 0)
    expect(rate.wait(0)).toBe(500)
    expect(rate.wait(400)).toBe(100)
  })

  it('saves up no more than that, however long nothing came', () => {
    const rate = new RateLimiter(100)
    rate.charge(1, 0)
    rate.charge(200, 3_600_000)
    expect(rate.wait(3_600_000)).toBe(SECOND)
  })

  it('says how much may come before there is to be a pause', () => {
    const rate = new RateLimiter(100)
    expect(rate.available(0)).toBe(100)
    rate.charge(130, 0)
    expect(rate.available(0)).toBeCloseTo(-30)
    expect(rate.available(800)).toBeCloseTo(50)
    expect(new RateLimiter(Number.POSITIVE_INFINITY).available(0)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is at rest when as much may come as at the beginning', () => {
    const rate = new RateLimiter(100)
    expect(rate.isIdle(0)).toBe(true)
    rate.charge(50, 0)
    expect([rate.isIdle(499), rate.isIdle(500)]).toEqual([false, true])
  })

  it('slows nobody when any number may come', () => {
    const rate = new RateLimiter(Number.POSITIVE_INFINITY)
    rate.charge(1e12, 5)
    expect(rate.wait(5)).toBe(0)
  })

  it('lets through what it says, by whoever waits as it asks for', () => {
    const amounts = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), amounts, (perSecond, amounts) => {
        const rate = new RateLimiter(perSecond)
        let [now, sum] = [0, 0]
        for (const amount of amounts) {
          now += rate.wait(now)
          rate.charge(amount, now)
          // What came before the last has had its time.
          expect(sum).toBeLessThanOrEqual(perSecond + (perSecond * now) / SECOND + 1e-6)
          sum += amount
        }
      }),
    )
  })
})
