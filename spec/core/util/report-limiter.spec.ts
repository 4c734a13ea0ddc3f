import { describe, expect, it } from 'vitest'
import { ReportLimiter } from '../../../src/core/util/report-limiter.js'
import { ManualClock } from '../../support/manual-clock.js'

describe('ReportLimiter', () => {
  it('admits a limited number of reports per interval and key', () => {
    const clock = new ManualClock()
    const limiter = new ReportLimiter<string>(clock, 1_000, 2)
    expect(['a', 'a', 'a', 'b', 'a', 'b', 'b'].map(key => limiter.admit(key))).toEqual([
      0,
      0,
      undefined,
      0,
      undefined,
      0,
      undefined,
    ])
  })

  it('returns the number of withheld reports with the first report of the next interval, once', () => {
    const clock = new ManualClock()
    const limiter = new ReportLimiter<string>(clock, 1_000, 1)
    for (let i = 0; i < 5; i++) limiter.admit('a')
    clock.advance(999)
    expect(limiter.admit('a')).toBeUndefined()
    clock.advance(1)
    expect(limiter.admit('a')).toBe(5)
    clock.advance(1_000)
    expect(limiter.admit('a')).toBe(0)
  })
})
