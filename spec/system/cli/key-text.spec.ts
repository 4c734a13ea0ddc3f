import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyLine, keyOfLine, keyOfWord, shellWord } from '../../../src/cli/key-text.js'
import { isWellFormed, utf8 } from '../../../src/core/util/bytes.js'
import { anyCodePoint } from '../../support/any-code-point.js'

const anyText = fc.string({ minLength: 1, unit: anyCodePoint }).filter(text => isWellFormed(text))
const isText = (bytes: Uint8Array): boolean => Buffer.from(Buffer.from(bytes).toString()).equals(bytes)
const anyBytes = fc.uint8Array({ minLength: 1, maxLength: 20 })

describe('shellWord', () => {
  it.each([
    ['asset/7', 'asset/7'],
    ['thermostat1\\setPoint', "'thermostat1\\setPoint'"],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ['~/x', "'~/x'"],
    ['=x', "'=x'"],
    ['a=b', 'a=b'],
    ['*', "'*'"],
    ['°C', "'°C'"],
    ['two\nlines', "$'two\\nlines'"],
    ["a\t'\\", "$'a\\t\\'\\\\'"],
    ['\u202e', "$'\\xE2\\x80\\xAE'"],
  ])('writes %j', (key, word) => {
    expect(shellWord(key)).toBe(word)
  })

  it('writes a key that is not text byte by byte', () => {
    expect(shellWord(Uint8Array.of(255, 0))).toBe(`"\\$'\\xFF\\x00'"`)
  })

  it.each([
    ['-', `"\\$'-'"`],
    ['--json', `"\\$'--json'"`],
    ["$'x'", `"\\$'\\$\\'x\\''"`],
    ['a\0b', `"\\$'a\\x00b'"`],
    ['a\ufffdb', `"\\$'a\\xEF\\xBF\\xBDb'"`],
  ])('quotes %j against the shell and against flags', (key, word) => {
    expect(shellWord(key)).toBe(word)
  })

  it.each(['bash', 'sh'])('any key survives a round trip through %s', shell => {
    const odd = fc.oneof(
      anyBytes,
      anyBytes.map(key => Uint8Array.of(45, ...key)),
      anyText.map(text => `-${text}\0!$\`"`),
      anyText.map(text => `${text}\ufffd!$\`"`),
    )
    const keys = fc.sample(odd, 100).filter(key => typeof key === 'string' || !isText(key))
    const script = keys.map(key => `printf '%s\\0' ${shellWord(key)}`).join('\n')
    const words = execFileSync(shell, [], { input: script }).toString().split('\0').slice(0, -1)
    expect(words.map(keyOfWord)).toEqual(keys)
  })

  it('keys survive a round trip through bash', () => {
    const keys = fc.sample(
      // shellWord also quotes these keys, as tested above.
      anyText.filter(text => !/^-|[\0\ufffd]/.test(text)),
      100,
    )
    const script = keys.map(key => `printf '%s\\0' ${shellWord(key)}`).join('\n')
    expect(execFileSync('bash', [], { input: script }).toString()).toBe(keys.map(key => `${key}\0`).join(''))
  })
})

describe('keyLine', () => {
  it.each([
    ['thermostat1\\setPoint', 'thermostat1\\setPoint'],
    ["it's here", "it's here"],
    ['two\nlines', "$'two\\nlines'"],
    ["$'x'", "$'$\\'x\\''"],
    ["$'x", "$'x"],
  ])('writes %j in one line', (key, line) => {
    expect(keyLine(key)).toBe(line)
  })

  it('any key survives a round trip through keyLine', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyBytes), key => {
        const line = keyLine(key)
        expect(line).not.toMatch(/[\r\n]/)
        const back = keyOfLine(line)
        expect(typeof back === 'string' ? utf8(back) : back).toEqual(typeof key === 'string' ? utf8(key) : key)
      }),
    )
  })

  it('distinguishes text from other bytes', () => {
    expect(keyOfLine("$'a\\nb'")).toBe('a\nb')
    expect(keyOfLine("$'\\xFF'")).toEqual(Uint8Array.of(255))
    expect(keyOfLine('0xFF')).toBe('0xFF')
  })
})
