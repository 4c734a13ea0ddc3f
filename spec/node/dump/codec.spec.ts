import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { MAX_TIME_MS } from '../../../src/core/util/clock.js'
import {
  type DumpLine,
  DumpReader,
  type DumpRecord,
  DumpWriter,
  linesOf,
  toDumpLine,
} from '../../../src/node/dump/codec.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { effort } from '../../support/effort.js'
import { bytes } from '../../support/words.js'

const VERSION = '1696374425000:1:StateStore'

const record = (key: Uint8Array, value: Uint8Array, more: Partial<DumpRecord> = {}): DumpRecord => ({
  key,
  value,
  version: undefined,
  fencingToken: undefined,
  expiresAt: undefined,
  ...more,
})

/** Decodes a line of a dump without a first line. */
const readDumpLine = (line: DumpLine | string, number: number): DumpRecord | undefined => {
  const reader = new DumpReader()
  while (reader.lineNumber < number - 1) reader.read('')
  return reader.read(line)
}

describe('A dump line', () => {
  it('an expiry later than a date can be becomes the latest date', () => {
    const read = new DumpReader().read({ key: 'k', value: 'v', expiresAt: Number.MAX_SAFE_INTEGER })
    expect(read?.expiresAt).toBe(MAX_TIME_MS)
  })

  it('encodes a text value as text, and any other value as Base64', () => {
    expect(toDumpLine(record(bytes('k'), new TextEncoder().encode('21 °C')))).toEqual({ key: 'k', value: '21 °C' })
    expect(toDumpLine(record(bytes('\xff\x00'), bytes('\xfe')))).toEqual({ keyBytes: '/wA=', bytes: '/g==' })
    expect(toDumpLine(record(bytes('k'), bytes('')))).toEqual({ key: 'k', value: '' })
  })

  it('includes the version, expiry and fencing token if they are present', () => {
    const more = { version: Hlc.parse(VERSION), fencingToken: Hlc.parse('5:0:lock'), expiresAt: 17 }
    const line = { key: 'k', value: 'v', version: VERSION, expiresAt: 17, fencingToken: '5:0:lock' }
    expect(toDumpLine(record(bytes('k'), bytes('v'), more))).toEqual(line)
    expect(readDumpLine(line, 1)).toEqual(record(Uint8Array.of(0x6b), Uint8Array.of(0x76), more))
  })

  it('restores keys and values of any bytes', () => {
    const clock = fc.record({ wall: fc.nat(), counter: fc.nat(), node: fc.stringMatching(/^[^:]+$/) })
    const hlc = fc.option(
      clock.map(({ wall, counter, node }) => new Hlc(wall, counter, node)),
      { nil: undefined },
    )
    const any: fc.Arbitrary<DumpRecord> = fc.record({
      key: fc.oneof(
        fc.uint8Array({ minLength: 1 }),
        fc.string({ minLength: 1, unit: 'grapheme' }).map(text => new TextEncoder().encode(text)),
      ),
      value: fc.oneof(
        fc.uint8Array(),
        fc.string({ unit: anyCodePoint }).map(text => new TextEncoder().encode(text)),
      ),
      version: hlc,
      fencingToken: hlc,
      expiresAt: fc.option(fc.integer({ min: 0, max: MAX_TIME_MS }), { nil: undefined }),
    })
    const plain = ({ key, value, version, fencingToken, expiresAt }: DumpRecord) => ({
      key: [...key],
      value: [...value],
      version: String(version),
      fencingToken: String(fencingToken),
      expiresAt,
    })
    fc.assert(
      fc.property(any, one => {
        const line = JSON.stringify(toDumpLine(one))
        expect(line).not.toContain('\n')
        const read = readDumpLine(line, 1)
        expect(read && plain(read)).toEqual(plain(one))
      }),
      { numRuns: effort(1_000, 200) },
    )
  })

  it.each(['', ' ', '\t\r'])('is ignored if it is blank: %j', line => {
    expect(readDumpLine(line, 1)).toBeUndefined()
  })

  it.each([
    ['{"key":"k"', 'it is not valid JSON'],
    ['k = v', 'it is not valid JSON'],
    [
      '{',
      'it is not valid JSON: write each key as {"key":"...","value":"..."} on its own line, or give an object of values by key to `serve --seed`',
    ],
    [
      '{"line/speed":"12"}',
      'it has neither `key` nor `value`: write each key as {"key":"...","value":"..."} on its own line, or give an object of values by key to `serve --seed`',
    ],
    ['{}', 'it needs either `key` or `keyBytes`'],
    ['null', 'it is not a JSON object'],
    ['["k","v"]', 'it is not a JSON object'],
    ['"k"', 'it is not a JSON object'],
    ['{"value":"v"}', 'it needs either `key` or `keyBytes`'],
    ['{"key":"k","keyBytes":"aw==","value":"v"}', 'it needs either `key` or `keyBytes`'],
    ['{"key":"k"}', 'it needs either `value` or `bytes`'],
    ['{"key":"k","value":"v","bytes":"dg=="}', 'it needs either `value` or `bytes`'],
    ['{"key":"","value":"v"}', 'its key is empty'],
    ['{"keyBytes":"","value":"v"}', 'its key is empty'],
    ['{"key":7,"value":"v"}', 'its `key` is not well-formed text'],
    ['{"key":null,"value":"v"}', 'its `key` is not well-formed text'],
    ['{"key":"\\ud800","value":"v"}', 'its `key` is not well-formed text'],
    ['{"key":"k","value":{"a":1}}', 'its `value` is not well-formed text'],
    ['{"key":"k","bytes":"dg"}', 'its `bytes` is not Base64'],
    ['{"key":"k","bytes":"d g=="}', 'its `bytes` is not Base64'],
    ['{"key":"k","bytes":"_-8="}', 'its `bytes` is not Base64'],
    ['{"key":"k","bytes":17}', 'its `bytes` is not Base64'],
    ['{"key":"k","value":"v","version":"1"}', 'its `version` is not a version such as 1696374425000:1:StateStore'],
    [
      '{"key":"k","value":"v","fencingToken":5}',
      'its `fencingToken` is not a version such as 1696374425000:1:StateStore',
    ],
    ['{"key":"k","value":"v","expiresAt":"soon"}', 'its `expiresAt` is not a time in ms since the Unix epoch: soon'],
    ['{"key":"k","value":"v","expiresAt":-1}', 'its `expiresAt` is not a time in ms since the Unix epoch: -1'],
    ['{"key":"k","value":"v","expiresAt":1.5}', 'its `expiresAt` is not a time in ms since the Unix epoch: 1.5'],
    ['{"key":"k","value":"v","expiresIn":5}', 'it has an unknown member "expiresIn"'],
    ['{"key":"k","value":"v","__proto__":5}', 'it has an unknown member "__proto__"'],
  ])('is rejected: %s', (line, message) => {
    const error = { code: 'argument', message: `line 7: ${message}` }
    expect(() => readDumpLine(line, 7)).toThrow(expect.objectContaining(error))
  })
})

describe('A dump', () => {
  const LINES: readonly DumpLine[] = [
    { key: 'a', value: '21 °C', version: VERSION },
    { key: 'b', value: '' },
    { keyBytes: '/wA=', bytes: '/g==' },
  ]

  const textOf = (lines: readonly DumpLine[]): string => {
    const writer = new DumpWriter()
    return [writer.begin(), ...lines.map(line => writer.line(line)), writer.end()].join('')
  }

  /** Returns the number of records, or the error message. */
  function read(lines: readonly (DumpLine | string)[]): number | string {
    const reader = new DumpReader()
    try {
      const records = lines.flatMap(line => reader.read(line) ?? [])
      reader.end()
      return records.length
    } catch (error) {
      return String(error)
    }
  }

  it('has a first line, and a last line with the number of its keys and their checksum', () => {
    expect(textOf(LINES.slice(1, 2))).toBe(
      '{"dump":1}\n{"key":"b","value":""}\n{"end":{"keys":1,"crc32":"a69f09cc"}}\n',
    )
    expect(textOf([])).toBe('{"dump":1}\n{"end":{"keys":0,"crc32":"00000000"}}\n')
  })

  it('is accepted with other line ends, as objects, and after another dump', () => {
    const lines = textOf(LINES).split('\n')
    expect(read(lines)).toBe(3)
    expect(read(lines.map(line => `${line}\r`))).toBe(3)
    expect(read(lines.filter(line => line !== '').map(line => JSON.parse(line)))).toBe(3)
    expect(read([...lines, ...lines, ...LINES])).toBe(9)
  })

  it('is rejected if it is truncated at any line', () => {
    const lines = textOf(LINES).trim().split('\n')
    for (let count = 1; count < lines.length; count++)
      expect(read(lines.slice(0, count))).toContain(`line ${count}: the dump is truncated: its last line`)
    expect(read(lines.slice(1))).toContain('line 4: the first line of the dump is missing')
    expect(read([...lines.slice(0, 2), ...lines])).toContain('line 3: the dump is truncated: its last line')
  })

  it('is rejected if a line is missing or changed', () => {
    const lines = textOf(LINES).trim().split('\n')
    expect(read(lines.filter((_, at) => at !== 2))).toContain('line 4: the dump was changed')
    expect(read(lines.map(line => line.replace('21 °C', '22 °C')))).toContain('line 5: the dump was changed')
  })

  it('is rejected if its version is unknown', () => {
    expect(read(['{"dump":2}'])).toContain('line 1: this version cannot read the dump: {"dump":2}')
  })
})

async function* chunks(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

async function linesIn(parts: readonly Uint8Array[], longest?: number): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(chunks(...parts), longest)) lines.push(line)
  return lines
}

function cut(whole: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map(place => place % (whole.length + 1)).sort((a, b) => a - b), whole.length]
  return places.slice(1).map((end, at) => whole.subarray(places[at], end))
}

describe('linesOf', () => {
  it.each([
    ['', []],
    ['\n', ['']],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\n\nb', ['a', '', 'b']],
    ['a\r\nb\r\n', ['a\r', 'b\r']],
  ])('splits %j', async (text, expected) => {
    expect(await linesIn([bytes(text)])).toEqual(expected)
  })

  it('returns the same lines regardless of how the stream is divided, even within a character', async () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('°€😀')), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(), { maxLength: 8 }), async (lines, cuts) => {
        const whole = new TextEncoder().encode(lines.map(line => `${line.replaceAll('\n', '')}\n`).join(''))
        expect(await linesIn(cut(whole, cuts))).toEqual(lines.map(line => line.replaceAll('\n', '')))
      }),
      { numRuns: effort(300, 60) },
    )
  })

  it('rejects a line that is too long with its line number, even if the line never ends', async () => {
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

  it('rejects invalid UTF-8 with the line number', async () => {
    const error = { code: 'argument', message: 'line 3: it is not valid UTF-8' }
    await expect(linesIn([bytes('a\nb\n'), bytes('\xff\n')])).rejects.toMatchObject(error)
    await expect(linesIn([bytes('a\nb\n\xc2')])).rejects.toMatchObject(error)
  })

  it('rethrows an error of the stream', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield bytes('a\nb')
      throw new Error('gone')
    }
    const lines = linesOf(broken())
    expect((await lines.next()).value).toBe('a')
    await expect(lines.next()).rejects.toThrow('gone')
  })
})
