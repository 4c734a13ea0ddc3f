import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NdjsonReader } from '../../../../console/src/api/ndjson.js'
import { utf8 } from '../../../../src/core/util/bytes.js'

describe('A stream of lines', () => {
  it('is the same however it is cut', () => {
    const values = [{ name: 'grün 𝄞' }, [1, 2], 'text\nof two lines', null]
    const bytes = utf8(values.map(value => `${JSON.stringify(value)}\n`).join(''))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), cuts => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const reader = new NdjsonReader()
        const read = places.slice(1).flatMap((end, i) => reader.read(bytes.subarray(places[i], end)))
        expect(read).toEqual(values)
      }),
    )
  })

  it('may have empty lines, and ends of lines of two signs', () => {
    expect(new NdjsonReader().read(utf8('\n1\r\n \n2\n'))).toEqual([1, 2])
  })

  it('keeps what is not whole yet', () => {
    const reader = new NdjsonReader()
    expect([reader.read(utf8('{"a":')), reader.read(utf8('1}')), reader.read(utf8('\n'))]).toEqual([[], [], [{ a: 1 }]])
  })

  it('throws for what is no JSON, and for a line without an end', () => {
    expect(() => new NdjsonReader().read(utf8('oops\n'))).toThrow(SyntaxError)
    const reader = new NdjsonReader()
    const endless = (): unknown => reader.read(new Uint8Array(1_048_576).fill(32))
    expect(() => [1, 2, 3, 4, 5].map(endless)).toThrow(/is too long/)
  })
})
