import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  convertDraft,
  liveProblem,
  MAX_EDITABLE_BYTES,
  needsHex,
  parseDraft,
  startDraft,
} from '../../../../console/src/model/draft.js'
import { parseSecondsAsMs, parseValue } from '../../../../console/src/model/typed-value.js'
import { utf8 } from '../../../../src/core/util/bytes.js'

const BLANK = startDraft()
const NAMED = { ...BLANK, name: 'a' }

describe('Entered values', () => {
  it.each([
    ['text', ' warm ', ' warm '],
    ['number', ' 21.5 ', '21.5'],
    ['json', '{ "a": 1 }', '{ "a": 1 }'],
  ] as const)('entered text of type %s is converted to bytes', (type, typed, stored) => {
    expect(parseValue(type, typed)).toEqual({ bytes: utf8(stored) })
  })

  it.each(['00ff7a', '00 FF 7A', '0x00FF7A', '00:ff:7a', ' 00 ff\n7a '])('the hex text %j is parsed', typed => {
    expect(parseValue('hex', typed)).toEqual({ bytes: new Uint8Array([0, 255, 122]) })
  })

  it.each([
    ['number', 'warm', /^Must be a number/],
    ['number', '', /^Must be a number/],
    ['number', 'Infinity', /^Must be a number/],
    ['json', '{', /^Invalid JSON: /],
    ['hex', '0', /^Must be pairs/],
    ['hex', 'zz', /^Must be pairs/],
    ['text', '\ud83d', /^Invalid Unicode/],
  ] as const)('entered text of type %s is rejected: %j', (type, typed, problem) => {
    expect(parseValue(type, typed).problem).toMatch(problem)
  })

  it.each([
    ['', 0],
    ['0.5', 500],
    ['60', 60_000],
    ['0', undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['1e99', undefined],
  ])('%j seconds are parsed as %s ms', (typed, ms) => {
    expect(parseSecondsAsMs(typed)).toBe(ms)
  })
})

describe('The form that sets a key', () => {
  it('the form starts with the current value and its type', () => {
    expect(startDraft(utf8('21.5'))).toEqual({ ...BLANK, type: 'number', text: '21.5' })
    expect(startDraft(utf8('{"a":1}'))).toMatchObject({ type: 'json', text: '{\n  "a": 1\n}' })
    expect(startDraft(utf8('{"a": 1}'))).toMatchObject({ type: 'json', text: '{"a": 1}', isPrettyPrinted: false })
    expect(startDraft(utf8('true'))).toMatchObject({ type: 'text', text: 'true' })
    expect(startDraft(new Uint8Array([0, 255]))).toMatchObject({ type: 'hex', text: '00 FF' })
  })

  it('pretty-printed JSON is stored compact, edited or not', () => {
    const draft = { ...startDraft(utf8('{"a":1}')), name: 'a' }
    expect(parseDraft(draft).write?.value).toEqual(utf8('{"a":1}'))
    expect(parseDraft({ ...draft, text: '{\n  "a": 10000000000000000001,\n  "b": " "}' }).write?.value).toEqual(
      utf8('{"a":10000000000000000001,"b":" "}'),
    )
    expect(convertDraft(draft, 'text')).toMatchObject({ type: 'text', text: '{"a":1}' })
    expect(convertDraft(draft, 'hex').text).toBe('7B 22 61 22 3A 31 7D')
  })

  it('the form starts with the remaining time to live, so that edits keep the expiry', () => {
    expect(startDraft(utf8('1'), 90_400).expires).toBe('91')
    expect(startDraft(utf8('1'), 20).expires).toBe('1')
    expect(parseDraft({ ...startDraft(utf8('1'), 90_000), name: 'a' }).write?.options).toEqual({ expiresIn: 90_000 })
  })

  it('while the user types, only JSON is validated', () => {
    expect(liveProblem({ ...BLANK, type: 'json', text: '{"a":' })).toMatch(/^Invalid JSON: /)
    expect(liveProblem({ ...BLANK, type: 'json', text: ' ' })).toBeUndefined()
    expect(liveProblem({ ...BLANK, type: 'json', text: '{}' })).toBeUndefined()
    expect(liveProblem({ ...BLANK, type: 'number', text: '-' })).toBeUndefined()
  })

  it('every value that is not edited is stored byte for byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), value => {
        const { type } = startDraft(value)
        const { write } = parseDraft({ ...startDraft(value), name: 'a' })
        // The whitespace around a number is dropped.
        expect(type === 'number' ? 'fine' : write?.value).toEqual(type === 'number' ? 'fine' : value)
      }),
    )
  })

  it('text with carriage returns is edited as hex, because a text area would drop them', () => {
    const beginning = startDraft(utf8('a\r\nb'))
    expect(beginning).toMatchObject({ type: 'hex', text: '61 0D 0A 62' })
    expect(startDraft(utf8('{"a":\r1}')).type).toBe('hex')
    expect(needsHex(beginning)).toBe(true)
    expect(needsHex(convertDraft(beginning, 'text'))).toBe(true)
    expect(needsHex(startDraft(utf8('a\nb')))).toBe(false)
    expect(needsHex(startDraft(new Uint8Array([0, 13])))).toBe(false)
  })

  it('a large text is stored completely, and a value over the limit is not loaded', { tags: 'slow' }, () => {
    const large = utf8('ä'.repeat(100_000))
    expect(parseDraft({ ...startDraft(large), name: 'a' }).write?.value).toEqual(large)
    expect(startDraft(new Uint8Array(MAX_EDITABLE_BYTES + 1))).toEqual(BLANK)
  })

  it('changing the type preserves the bytes', () => {
    const hex = convertDraft({ ...NAMED, text: 'grün' }, 'hex')
    expect(hex).toMatchObject({ type: 'hex', text: '67 72 C3 BC 6E' })
    expect(convertDraft(hex, 'text')).toMatchObject({ type: 'text', text: 'grün' })
    expect(convertDraft({ ...NAMED, type: 'hex', text: 'FF' }, 'text')).toMatchObject({ type: 'text', text: 'FF' })
    expect(convertDraft({ ...NAMED, type: 'json', text: '{' }, 'text')).toMatchObject({ type: 'text', text: '{' })
  })

  it('a valid form is converted to a write', () => {
    expect(parseDraft({ ...NAMED, text: 'warm' })).toEqual({ write: { name: 'a', value: utf8('warm'), options: {} } })
    const filled = { ...NAMED, expires: '1.5', condition: 'ifAbsent', token: '1:0:Store' } as const
    expect(parseDraft(filled).write?.options).toEqual({ expiresIn: 1_500, ifAbsent: true, fencingToken: '1:0:Store' })
    expect(parseDraft({ ...NAMED, condition: 'ifAbsentOrEqual' }).write?.options).toEqual({ ifAbsentOrEqual: true })
  })

  it('problems are reported per field', () => {
    const wrong = { ...BLANK, type: 'number', text: 'x', expires: 'y', token: 'z' } as const
    expect(Object.keys(parseDraft(wrong).problems ?? {})).toEqual(['name', 'text', 'expires', 'token'])
    expect(parseDraft({ ...NAMED, token: '1:0:Store' }).problems).toBeUndefined()
  })
})
