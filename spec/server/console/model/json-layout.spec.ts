import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactJson, isCompact, MAX_PRETTY_CHARS, prettyJson } from '../../../../console/src/model/json-layout.js'

/** Compact JSON, in some cases with numbers that no double can represent. */
const anyCompact = fc
  .json()
  .map(text => JSON.stringify(JSON.parse(text)))
  .chain(text => fc.constantFrom(text, `[${text},12345678901234567890.10,1e999,{"a":1,"a":2}]`))

describe('JSON layout', () => {
  it('JSON is pretty-printed', () => {
    expect(prettyJson('{"a":[1,{}],"b\\"":" x "}')).toBe('{\n  "a": [\n    1,\n    {}\n  ],\n  "b\\"": " x "\n}')
  })

  it('compacting restores the original text, digit by digit', () => {
    fc.assert(
      fc.property(anyCompact, json => {
        expect(compactJson(prettyJson(json))).toBe(json)
        expect(isCompact(json)).toBe(true)
      }),
    )
  })

  it('JSON that is already formatted or too long is not pretty-printed', () => {
    expect(isCompact('{"a": 1}')).toBe(false)
    expect(isCompact('[1]\n')).toBe(false)
    expect(isCompact(`"${'x'.repeat(MAX_PRETTY_CHARS)}"`)).toBe(false)
  })
})
