import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hexRows } from '../../../../console/src/model/hex-rows.js'
import { jsonTokens } from '../../../../console/src/model/json-tokens.js'
import { decodeReadable, previewValue } from '../../../../console/src/model/value.js'
import { utf8 } from '../../../../src/core/util/bytes.js'

describe('previewValue', () => {
  it.each([
    ['21.5', 'number'],
    ['-3e2', 'number'],
    [' 7 ', 'number'],
    ['1e999', 'text'],
    ['0x10', 'text'],
    ['1,5', 'text'],
    ['true', 'boolean'],
    ['True', 'text'],
    ['{"a":1}', 'json'],
    ['[]', 'json'],
    ['"quoted"', 'json'],
    ['null', 'json'],
    ['nobody', 'text'],
    ['{broken', 'text'],
    ['grüße\tan\nalle', 'text'],
    ['a\u0000b', 'binary'],
    ['', 'empty'],
  ])('%j is detected as %s', (text, kind) => {
    expect(previewValue(utf8(text)).kind).toBe(kind)
  })

  it('only numbers have a numeric value', () => {
    expect(previewValue(utf8(' 21.5 ')).number).toBe(21.5)
    expect(previewValue(utf8('"21.5"')).number).toBeUndefined()
  })

  it('bytes that are not text are shown as hex pairs', () => {
    expect(previewValue(new Uint8Array([0, 255, 16]))).toEqual({ kind: 'binary', line: '00 FF 10', number: undefined })
  })

  it('a value of several lines is joined into one line', () => {
    expect(previewValue(utf8('{\n  "a": 1,\n  "b": 2\n}')).line).toBe('{ "a": 1, "b": 2 }')
  })

  it('long values are truncated', () => {
    expect(previewValue(utf8('x'.repeat(5_000))).line).toMatch(/^x{240}…$/)
    expect(previewValue(new Uint8Array(5_000)).line).toMatch(/^(00 ){48}…$/)
  })

  it.each([0, 1, 2, 3])(
    'a large text is detected as text even if the inspected part ends within a character (%i)',
    shift => {
      const text = 'x'.repeat(shift) + '𝄞'.repeat(20_000)
      expect(previewValue(utf8(text)).kind).toBe('text')
      expect(text.startsWith(decodeReadable(utf8(text)) ?? '-')).toBe(true)
    },
  )

  it('returns a preview of arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        expect(previewValue(bytes).line).not.toMatch(/\n/)
      }),
    )
  })
})

describe('jsonTokens', () => {
  const lines = (json: string): string =>
    jsonTokens(json)
      .map(({ text }) => text)
      .join('')

  it('the layout equals the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const json = JSON.stringify(value)
        expect(lines(json)).toBe(JSON.stringify(JSON.parse(json), null, 2))
      }),
    )
  })

  it('digits, duplicate names and punctuation in strings are preserved', () => {
    expect(lines('{"a":12345678901234567890.10,"a":"} ,"}')).toBe('{\n  "a": 12345678901234567890.10,\n  "a": "} ,"\n}')
  })

  it('names are distinguished from strings', () => {
    const types = jsonTokens('{"a":"b","c":[true,-1e3]}').filter(({ type }) => type !== 'mark')
    expect(types.map(({ type, text }) => `${type} ${text}`)).toEqual([
      'name "a"',
      'string "b"',
      'name "c"',
      'word true',
      'number -1e3',
    ])
  })
})

describe('hexRows', () => {
  it('a row has eight bytes and their characters', () => {
    expect(hexRows(utf8('Hello, wörld'))).toEqual([
      { offset: '0000', bytes: '48 65 6C 6C 6F 2C 20 77', text: 'Hello, w' },
      { offset: '0008', bytes: 'C3 B6 72 6C 64', text: '··rld' },
    ])
  })

  it('an empty value has no rows', () => {
    expect(hexRows(new Uint8Array())).toEqual([])
  })
})
