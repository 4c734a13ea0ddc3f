import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linesOf } from '../../../src/node/dump/lines.js'
import { effort } from '../../support/effort.js'
import { bytes } from '../../support/words.js'

async function* chunks(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

async function linesIn(parts: readonly Uint8Array[], longest?: number): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(chunks(...parts), longest)) lines.push(line)
  return lines
}

/** The same bytes in pieces. */
function cut(whole: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map(place => place % (whole.length + 1)).sort((a, b) => a - b), whole.length]
  return places.slice(1).map((end, at) => whole.subarray(places[at], end))
}

describe('Lines of a stream', () => {
  it.each([
    ['', []],
    ['\n', ['']],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\n\nb', ['a', '', 'b']],
    ['a\r\nb\r\n', ['a\r', 'b\r']],
  ])('of %j', async (text, expected) => {
    expect(await linesIn([bytes(text)])).toEqual(expected)
  })

  it('do not depend on where it is cut, not even within a character', async () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('°€😀')), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(), { maxLength: 8 }), async (lines, cuts) => {
        const whole = new TextEncoder().encode(lines.map(line => `${line.replaceAll('\n', '')}\n`).join(''))
        expect(await linesIn(cut(whole, cuts))).toEqual(lines.map(line => line.replaceAll('\n', '')))
      }),
      { numRuns: effort(300, 60) },
    )
  })

  it('are refused by number when they are too long, also when they never end', async () => {
    const message = 'line 2: it is longer than 3 bytes'
    await expect(linesIn([bytes('abc\nabcd\n')], 3)).rejects.toMatchObject({ code: 'argument', message })
    const piece = bytes('ab')
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield bytes('\n')
      for (;;) yield piece
    }
    await expect(linesOf(endless(), 3).next()).resolves.toMatchObject({ value: '' })
    const lines = linesOf(endless(), 3)
    await lines.next()
    await expect(lines.next()).rejects.toMatchObject({ code: 'argument', message })
  })

  it('are refused by number when they are no UTF-8', async () => {
    const error = { code: 'argument', message: 'line 3: it is not valid UTF-8' }
    await expect(linesIn([bytes('a\nb\n'), bytes('\xff\n')])).rejects.toMatchObject(error)
    await expect(linesIn([bytes('a\nb\n\xc2')])).rejects.toMatchObject(error)
  })

  it('end with what the stream raises', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield bytes('a\nb')
      throw new Error('gone')
    }
    const lines = linesOf(broken())
    expect((await lines.next()).value).toBe('a')
    await expect(lines.next()).rejects.toThrow('gone')
  })
})
