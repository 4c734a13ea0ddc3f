import { createColors } from 'picocolors'
import { describe, expect, it } from 'vitest'
import { entryLines, shortened } from '../../src/cli/entry-line.js'
import { type Entry, Hlc } from '../../src/client/index.js'
import { utf8 } from '../../src/core/util/bytes.js'

const NOW = new Date(2026, 0, 2, 3, 4, 5, 6).getTime()
const version = Hlc.parse('1696374425000:0:StateStore')
const entry = (value: string, key = 'k'): Entry<Uint8Array> => ({
  key,
  op: 'set',
  version,
  value: utf8(value),
  source: 'notification',
})
const absent: Entry<Uint8Array> = {
  key: 'k',
  op: 'absent',
  version: undefined,
  value: undefined,
  source: 'resync',
  reason: 'unknown',
}

const plain = { colors: createColors(false), columns: undefined, hex: false }

describe('entryLines', () => {
  it('aligns the columns', () => {
    const toLine = entryLines(['k', 'longer'], plain)
    const expired: Entry<Uint8Array> = { ...absent, op: 'delete', reason: 'expired' }
    const lines = [entry('twenty-one'), entry('2', 'longer'), absent, expired].map(one => toLine(one, NOW))
    expect(lines).toEqual([
      '03:04:05.006  k       set      1696374425000:0:StateStore  twenty-one  notification\n',
      '03:04:05.006  longer  set      1696374425000:0:StateStore  2           notification\n',
      '03:04:05.006  k       absent   -                           -           resync\n',
      '03:04:05.006  k       expired  -                           -           resync\n',
    ])
  })

  it('widens the column of versions for a store with longer versions', () => {
    const toLine = entryLines(['k'], plain)
    const padded = Hlc.parse('1696374425000:0:a-store-of-another-make')
    expect(toLine({ ...entry('1'), version: padded }, NOW)).toContain(`${padded}  1  notification`)
    expect(toLine(entry('1'), NOW)).toContain(`${String(version).padEnd(String(padded).length)}  1  `)
  })

  it.each([30, 50, 80, 100, 200])('fits a long value into a terminal of %i columns', columns => {
    const line = entryLines(['k'], { ...plain, columns })(entry('x'.repeat(1000)), NOW)
    expect(line.trimEnd().length).toBe(columns)
  })

  it.each([40, 80, 120])('fits into %i columns when the counter of versions grows', columns => {
    const toLine = entryLines(['thermostat1/setPoint'], { ...plain, columns })
    for (const counter of [0, 9, 10, 99_999, 123_456_789]) {
      const grown = {
        ...entry('x'.repeat(60), 'thermostat1/setPoint'),
        version: new Hlc(1_696_374_425_000, counter, 'a'),
      }
      expect(toLine(grown, NOW).trimEnd().length).toBeLessThanOrEqual(columns)
    }
    expect(toLine(entry('x'.repeat(60), 'thermostat1/setPoint'), NOW).trimEnd().length).toBeLessThanOrEqual(columns)
  })

  it.each([40, 80, 120])('keeps the end of a long key and the beginning of its value in %i columns', columns => {
    const key = `plant/${'line/'.repeat(30)}temperature`
    const line = entryLines([], { ...plain, columns })(entry('21.5 and more'.repeat(9), key), NOW)
    expect(line.trimEnd().length).toBeLessThanOrEqual(columns)
    expect(line).toMatch(/….*temperature {2}.*21\.5/)
  })

  it('counts wide characters of keys and values as two columns', () => {
    const line = entryLines(['温度'], { ...plain, columns: 30 })(entry('温'.repeat(50), '温度'), NOW)
    expect(line).toBe(`'温度'  ${'温'.repeat(7)}… 150 B\n`)
  })

  it('uses the width to which the terminal changed', () => {
    const style = { ...plain, columns: 120 }
    const toLine = entryLines(['k'], style)
    toLine(entry('x'.repeat(200)), NOW)
    style.columns = 40
    expect(toLine(entry('x'.repeat(200)), NOW).trimEnd().length).toBe(40)
  })

  it('shortens nothing without a terminal, and does not pad to the length of long values', () => {
    const toLine = entryLines(['k'], plain)
    expect(toLine(entry('x'.repeat(1000)), NOW)).toContain('x'.repeat(1000))
    expect(toLine(entry('1'), NOW).length).toBeLessThan(150)
  })

  it.each([
    [80, '03:04:05.006  k  set      twenty-one  notification\n'],
    [60, '03:04:05.006  k  set      twenty-one\n'],
    [40, 'k  set      twenty-one\n'],
    [30, 'k  twenty-one\n'],
  ])('shows values rather than versions and other columns in a terminal of %i columns', (columns, line) => {
    expect(entryLines(['k'], { ...plain, columns })(entry('twenty-one'), NOW)).toBe(line)
  })

  it('escapes control characters of keys', () => {
    expect(entryLines(['a\nb'], plain)(entry('1', 'a\nb'), NOW)).toContain("  $'a\\nb'  set")
  })

  it('colours operation and source', () => {
    const line = entryLines(['k'], { ...plain, colors: createColors(true) })(entry('1'), NOW)
    expect(line).toContain('\u001b[32mset    \u001b[39m')
  })
})

describe('shortened', () => {
  it.each([
    ['text unchanged', utf8('twenty-one °C'), 'twenty-one °C'],
    ['an empty value in quotes', utf8(''), '""'],
    ['control characters escaped', utf8('a\nb\t\u001b[2J\u202e'), 'a\\nb\\t\\u001b[2J\\u202e'],
    ['other bytes in Base16', Uint8Array.of(0, 255), '0x00FF'],
    ['the beginning and the size of a long text', utf8('x'.repeat(500)), `${'x'.repeat(33)}… 500 B`],
    ['the beginning and the size of long bytes', new Uint8Array(500).fill(255), `0x${'F'.repeat(31)}… 500 B`],
    [
      'the beginning and the size of a text with multi-byte characters',
      utf8('😀'.repeat(100)),
      `${'😀'.repeat(16)}… 400 B`,
    ],
  ])('shows %s', (_, value, expected) => {
    expect(shortened(value, 40)).toBe(expected)
  })

  it('shows text in Base16 on request', () => {
    expect(shortened(utf8('AB'), 40, true)).toBe('0x4142')
  })

  it('shows the beginning of a value without its size in the narrowest terminal', () => {
    expect(shortened(utf8('x'.repeat(12_345)), 12)).toBe('xxxxxxxxxxx…')
  })
})
