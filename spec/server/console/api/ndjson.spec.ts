import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NdjsonReader } from '../../../../console/src/api/ndjson.js'
import { utf8 } from '../../../../src/core/util/bytes.js'

describe('NdjsonReader', () => {
  it('the parsed lines do not depend on how the stream is chunked', () => {
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

  it('the reader accepts empty lines and CRLF', () => {
    expect(new NdjsonReader().read(utf8('\n1\r\n \n2\n'))).toEqual([1, 2])
  })

  it('the reader keeps an incomplete line until the next chunk', () => {
    const reader = new NdjsonReader()
    expect([reader.read(utf8('{"a":')), reader.read(utf8('1}')), reader.read(utf8('\n'))]).toEqual([[], [], [{ a: 1 }]])
  })

  it('the reader throws on invalid JSON and on a line that is too long', () => {
    expect(() => new NdjsonReader().read(utf8('oops\n'))).toThrow(SyntaxError)
    const reader = new NdjsonReader()
    const endless = (): unknown => reader.read(new Uint8Array(1_048_576).fill(32))
    expect(() => [1, 2, 3, 4, 5].map(endless)).toThrow(/is too long/)
  })
})
