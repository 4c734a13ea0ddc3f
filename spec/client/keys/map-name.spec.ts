import { describe, expect, it } from 'vitest'
import { uniqueName } from '../../../src/client/keys/map-name.js'
import { keyFromId, toKeyName } from '../../../src/client/watch/key-name.js'

describe('the name of a key in a map', () => {
  it.each(['a', '0xFF', '0x', '0x41', '0xff', 'é', '\u0000'])('a text key has its text: %j', text => {
    expect(uniqueName(toKeyName(text))).toBe(text)
    expect(uniqueName(toKeyName(new TextEncoder().encode(text)))).toBe(text)
  })

  it('bytes that are not UTF-8 have a name that differs from their text and from text keys', () => {
    const name = uniqueName(toKeyName(Uint8Array.of(0xff)))
    expect(name).toBe('0xFF\udc00')
    expect(uniqueName(keyFromId('FF') ?? toKeyName('-'))).toBe(name)
    expect(() => toKeyName(name)).toThrow('well-formed')
  })
})
