import { describe, expect, it } from 'vitest'
import { KnownTexts } from '../../../src/core/mqtt5/text.js'
import { utf8 } from '../../../src/core/util/bytes.js'

describe('KnownTexts', () => {
  it('reads each of two texts once that belong to the same place', () => {
    const texts = new KnownTexts(24)
    const read: string[] = []
    const come = (text: string): string => {
      const bytes = utf8(text)
      return texts.textOf(bytes, 0, bytes.length, unknown => read.push(unknown))
    }
    const got = Array.from({ length: 3 }, () => ['$high_priority', '1.0'].map(come)).flat()
    expect(got).toEqual(['$high_priority', '1.0', '$high_priority', '1.0', '$high_priority', '1.0'])
    expect(read).toEqual(['$high_priority', '1.0'])
  })

  it('forgets the one that was read first when a third comes to their place', () => {
    const texts = new KnownTexts(24)
    const read: string[] = []
    const come = (text: string): string => texts.textOf(utf8(text), 0, 4, unknown => read.push(unknown))
    // Only the first character differs, which says nothing about the place.
    for (const text of ['aXXX', 'bXXX', 'cXXX', 'bXXX', 'cXXX', 'aXXX']) expect(come(text)).toBe(text)
    expect(read).toEqual(['aXXX', 'bXXX', 'cXXX', 'aXXX'])
  })
})
