import { describe, expect, it } from 'vitest'
import { type Point, trendOf } from '../../chaos/trend.js'
import { Random } from '../../harness/random.js'
import { SEED } from '../support/effort.js'

const random = new Random(SEED)

/** Returns samples every 5 s for 20 minutes. */
const sample = (valueAt: (hours: number) => number): Point[] =>
  Array.from({ length: 240 }, (_, i) => ({ at: i * 5_000, value: valueAt((i * 5_000) / 3_600_000) }))

const noise = () => random.next() + random.next() - 1

describe('The trend of a series', () => {
  it('a flat series with noise has an interval around zero', () => {
    const { median, low, high } = trendOf(sample(() => 100 + 10 * noise()))
    expect(median).toBeGreaterThan(95)
    expect(median).toBeLessThan(105)
    expect(low).toBeLessThan(0)
    expect(high).toBeGreaterThan(0)
  })

  it('a leak is found below noise and outliers', () => {
    const { slope, low, high } = trendOf(
      sample(hours => 100 + 60 * hours + 10 * noise() + (random.next() < 0.1 ? 500 : 0)),
    )
    expect(slope).toBeGreaterThan(40)
    expect(slope).toBeLessThan(80)
    expect(low).toBeGreaterThan(20)
    expect(high).toBeLessThan(100)
  })

  it('a file that is replaced repeatedly counts as flat', () => {
    const { low } = trendOf(sample(hours => (hours * 3_600) % 47))
    expect(low).toBeLessThan(10)
  })

  it('a constant series has no slope', () => {
    expect(trendOf(sample(() => 7))).toEqual({ median: 7, slope: 0, low: 0, high: 0 })
  })

  it('a series of one sample has no slope that could pass', () => {
    expect(trendOf([{ at: 0, value: 1 }]).low).toBeNaN()
  })
})
