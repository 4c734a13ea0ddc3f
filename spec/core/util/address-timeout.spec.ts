import { describe, expect, it } from 'vitest'
import { addressTimeout } from '../../../src/core/util/address-timeout.js'

const times = (connectTimeoutMs: number): number[] => [0, 1, 2, 3, 4, 5].map(n => addressTimeout(connectTimeoutMs, n))

describe('the time for each address of a host name', () => {
  it('the first address gets half of an attempt, and later attempts pass more addresses', () => {
    expect(times(10_000)).toEqual([5_000, 2_500, 1_250, 625, 5_000, 2_500])
  })

  it('the time is one that a timer of Node accepts', () => {
    expect(times(1)).toEqual([1, 1, 1, 1, 1, 1])
    expect(addressTimeout(Number.MAX_SAFE_INTEGER, 0)).toBe(2 ** 30)
  })
})
