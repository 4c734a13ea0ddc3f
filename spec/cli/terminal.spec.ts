import { describe, expect, it } from 'vitest'
import { colorsFor, oneLine, timeOfDay } from '../../src/cli/terminal.js'
import { TestSink } from './test-io.js'

const [terminal, pipe] = [new TestSink(80), new TestSink()]

describe('colorsFor', () => {
  it.each([
    ['a terminal', terminal, {}, true],
    ['a pipe', pipe, {}, false],
    ['a pipe in a CI job', pipe, { CI: 'true' }, false],
    ['a dumb terminal', terminal, { TERM: 'dumb' }, false],
    ['a terminal with NO_COLOR', terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['a terminal with an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
    ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true],
    ['a terminal with FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ])('returns the colours for %s', (_, sink, env, colored) => {
    expect(colorsFor(sink, env).isColorSupported).toBe(colored)
  })
})

describe('oneLine', () => {
  it('escapes only line ends and control characters', () => {
    expect(oneLine('a\r\nb\tc\u0007\u009b\u2028')).toBe('a\\r\\nb\\tc\\u0007\\u009b\\u2028')
    expect(oneLine('thermostat1\\setPoint 21 °C 👩‍🔧')).toBe('thermostat1\\setPoint 21 °C 👩‍🔧')
  })
})

describe('timeOfDay', () => {
  it('formats local time with milliseconds', () => {
    expect(timeOfDay(new Date(2026, 10, 20, 9, 8, 7, 6).getTime())).toBe('09:08:07.006')
  })
})
