import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { duration, inUnits } from '../../src/cli/flags.js'

describe('duration', () => {
  it.each([
    ['250', 250],
    ['250ms', 250],
    ['10s', 10_000],
    ['0.5s', 500],
    ['1.5h', 5_400_000],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
  ])('parses %s', (text, ms) => {
    expect(duration(text)).toBe(ms)
  })

  it.each([
    '',
    '0',
    '0s',
    '-1',
    '-1s',
    '1.5',
    '10 s',
    '10S',
    's',
    '1h30',
    '1e3',
    'Infinity',
    '9007199254740992',
    '0.1ms',
  ])('rejects %j, and the error gives an example', text => {
    expect(() => duration(text)).toThrow('Expected a time, such as 500ms, 10s, 1h30m, or a positive integer of ms.')
  })
})

describe('inUnits', () => {
  it.each([
    [-5, '0ms'],
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [59_600, '1m'],
    [61_000, '1m 1s'],
    [3_600_000, '1h'],
    [5_400_000, '1h 30m'],
    [86_400_000 + 60_000, '1d'],
    [90_000_000, '1d 1h'],
  ])('formats %i ms as %s', (ms, text) => {
    expect(inUnits(ms)).toBe(text)
  })

  it('formats a time so that parsing it loses at most one smaller unit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 10 }), ms => {
        const parsed = duration(inUnits(ms).replace(' ', ''))
        expect(Math.abs(parsed - ms)).toBeLessThan(ms < 3_600_000 ? 1_000 : ms < 86_400_000 ? 60_500 : 3_600_500)
      }),
    )
  })
})
