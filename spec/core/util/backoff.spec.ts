import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { backoff } from '../../../src/core/util/backoff.js'

const lowest = (): number => 0
const highest = (): number => 1 - 2 ** -53

describe('backoff', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each([
    [1, 50, 100],
    [2, 100, 200],
    [3, 200, 400],
    [9, 12_800, 25_600],
    [10, 15_000, 30_000],
    [11, 15_000, 30_000],
    [5000, 15_000, 30_000],
  ])('delays attempt %i by %i to %i ms by default', (attempt, least, most) => {
    expect(backoff(attempt, { random: lowest })).toBe(least)
    expect(backoff(attempt, { random: highest })).toBe(most)
  })

  it('starts at `initial` and stops growing at `max`', () => {
    const delays = [1, 2, 3, 4, 5].map(attempt => backoff(attempt, { initial: 8, max: 50, random: highest }))
    expect(delays).toEqual([8, 16, 32, 50, 50])
  })

  it('never exceeds `max`, even at the first attempt', () => {
    expect(backoff(1, { initial: 500, max: 20, random: highest })).toBe(20)
  })

  it('returns a finite delay without a maximum', () => {
    expect(backoff(5000, { max: Number.POSITIVE_INFINITY })).toBeLessThan(Number.MAX_SAFE_INTEGER)
  })

  it('spreads its delays over the upper half of the range', () => {
    expect([0, 0.25, 0.5, 0.75].map(chance => backoff(1, { initial: 800, random: () => chance }))).toEqual([
      400, 500, 600, 700,
    ])
  })

  it('returns a delay between half of the ceiling and the ceiling for any options', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    const ms = fc.integer({ min: 1, max: 1_000_000 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), ms, ms, chance, (attempt, initial, max, random) => {
        const delay = backoff(attempt, { initial, max, random: () => random })
        let ceiling = initial
        for (let i = 1; i < attempt && ceiling < max; i++) ceiling *= 2
        ceiling = Math.min(ceiling, max)
        expect(Number.isInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(ceiling / 2)
        expect(delay).toBeLessThanOrEqual(ceiling)
      }),
    )
  })

  it('uses Math.random by default', () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
    expect(backoff(1)).toBe(75)
    expect(random).toHaveBeenCalledTimes(1)
  })
})
