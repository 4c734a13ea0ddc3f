import { describe, expect, it } from 'vitest'
import { randomBytes } from '../../../src/core/util/random.js'

describe('randomBytes', () => {
  it.each([0, 1, 16, 1000])('gives %i bytes', length => {
    expect(randomBytes(length)).toHaveLength(length)
  })

  it('gives others each time', () => {
    const drawn = new Set(Array.from({ length: 50 }, () => randomBytes(16).join()))
    expect(drawn.size).toBe(50)
  })
})
