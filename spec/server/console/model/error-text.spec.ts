import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../../console/src/api/api.js'
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatFixed,
  pluralize,
} from '../../../../console/src/model/amount.js'
import { describeError } from '../../../../console/src/model/error-text.js'
import { keyParts } from '../../../../console/src/model/key-parts.js'
import { keyPieces, visibleKey } from '../../../../console/src/model/key-pieces.js'
import { summaryOf } from '../../../../console/src/model/summary.js'
import { dateAndTime, formatDuration, formatRemaining, timeOfDay } from '../../../../console/src/model/time.js'
import { shortVersion } from '../../../../console/src/model/version.js'
import { ConnectionRefusedError, ServiceError } from '../../../../src/core/util/errors.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

describe('Durations', () => {
  it.each([
    [-5, '0s'],
    [999, '0s'],
    [42 * SECOND, '42s'],
    [3 * MINUTE + 7 * SECOND, '3m 07s'],
    [HOUR - 1, '59m 59s'],
    [5 * HOUR + 2 * MINUTE, '5h 02m'],
    [24 * HOUR, '1d 0h'],
    [12 * 24 * HOUR + 4 * HOUR, '12d 4h'],
  ])('%i ms are formatted as %s', (ms, expected) => {
    expect(formatDuration(ms)).toBe(expected)
  })

  it.each([
    [1, '1s'],
    [1_000, '1s'],
    [1_001, '2s'],
    [0, '0s'],
    [-1, '0s'],
    [59_500, '1m 00s'],
  ])('a remaining time of %i ms is formatted as %s, and as 0 only at the end', (ms, expected) => {
    expect(formatRemaining(ms)).toBe(expected)
  })
})

describe('Times', () => {
  const at = new Date(2026, 1, 3, 4, 5, 6, 7).getTime()

  it('a time of day includes milliseconds', () => {
    expect(timeOfDay(at)).toBe('04:05:06.007')
    expect(dateAndTime(at)).toBe('2026-02-03 04:05:06.007')
  })

  it('a version is formatted as time and counter', () => {
    expect(shortVersion({ wallClock: at, counter: 3 })).toBe('04:05:06.007·3')
  })
})

describe('Amounts', () => {
  it('a count is formatted with separators and the correct noun form', () => {
    expect(formatCount(1_000_000)).toBe('1,000,000')
    expect([pluralize(0, 'key'), pluralize(1, 'key'), pluralize(2_000, 'key')]).toEqual([
      '0 keys',
      '1 key',
      '2,000 keys',
    ])
    expect([pluralize(1, 'watch', 'watches'), pluralize(2, 'watch', 'watches')]).toEqual(['1 watch', '2 watches'])
  })

  it('a large count is abbreviated', () => {
    expect([999, 9_999, 12_345, 1_000_000].map(formatCompact)).toEqual(['999', '9,999', '12.3K', '1M'])
  })

  it('bytes are formatted with a suitable unit', () => {
    expect([1, 1_023, 1_536, 3 * 1_048_576].map(formatBytes)).toEqual(['1 byte', '1,023 bytes', '1.5 KiB', '3.0 MiB'])
  })

  it('numbers have the given decimals, and very large or small ones six digits', () => {
    expect([0.1 + 0.2, 21, 0, 1_234.5, 12_345_678_901, 1.5e-9].map(n => formatFixed(n, 1))).toEqual([
      '0.3',
      '21.0',
      '0.0',
      '1,234.5',
      '12,345,700,000',
      '0.0000000015',
    ])
  })
})

describe('Summaries', () => {
  it('the mean weights each value by its duration', () => {
    expect(summaryOf({ times: [0, 1_000, 4_000], values: [10, 20, 90] }, 5_000)).toEqual({
      min: '10',
      max: '90',
      mean: '32.0',
      latest: '90',
    })
  })

  it('a summary has the decimals of the values', () => {
    expect(summaryOf({ times: [0, 1_000], values: [20.5, 21] }, 1_000)).toEqual({
      min: '20.5',
      max: '21.0',
      mean: '20.50',
      latest: '21.0',
    })
  })

  it('the mean of a single value is that value', () => {
    expect(summaryOf({ times: [7], values: [2.25] }, 7)).toMatchObject({ mean: '2.250', latest: '2.25' })
  })
})

describe('keyParts', () => {
  it.each([
    ['thermostat1\\setPoint', 'thermostat1\\', 'setPoint'],
    ['a/b/c', 'a/b/', 'c'],
    ['a.b:c', 'a.b:', 'c'],
    ['plain', '', 'plain'],
    ['folder/', '', 'folder/'],
    ['a/folder/', 'a/', 'folder/'],
    ['/', '', '/'],
  ])('%s is split into %j and %j', (name, place, own) => {
    expect(keyParts(name)).toEqual([place, own])
  })
})

describe('Invisible characters in a key', () => {
  it.each([
    ['thermostat1\\setPoint', 'thermostat1\\setPoint'],
    ['line 1', 'line 1'],
    ['a\nb\r\t', 'a\\nb\\r\\t'],
    ['a\u0000\u0085', 'a\\u0000\\u0085'],
    ['user\u202egpj', 'user\\u202egpj'],
    ['\u2066a\u2069', '\\u2066a\\u2069'],
    [' ', '·'],
    ['  a ', '··a·'],
    ['größe/👩‍🚒', 'größe/👩‍🚒'],
  ])('invisible characters of %j are shown as %j', (name, line) => {
    expect(visibleKey(name)).toBe(line)
  })

  it('symbols for invisible characters are distinguished from the same characters in the key', () => {
    expect(keyPieces('·\n')).toEqual([
      { at: 0, text: '·', isSymbol: false },
      { at: 1, text: '\\n', isSymbol: true },
    ])
  })
})

describe('describeError', () => {
  it('a known error is described with advice', () => {
    const error = new ServiceError('fencing-token-required', 'a fencing token is required for this request')
    expect(describeError(error)).toEqual({
      title: 'Fencing token required',
      advice: 'A lock protects this key. Enter its token, or acquire the lock first.',
    })
  })

  it('a refused connection is described by the message of the broker', () => {
    const error = new ConnectionRefusedError('The broker refused the connection of client "a": Not authorized', 135)
    expect(describeError(error)).toEqual({
      title: 'No access',
      advice:
        'The broker refused the connection of client "a": Not authorized. ' +
        'Check this user, its password and the policy of the broker.',
    })
  })

  it('a lockout after wrong tokens is described as too many attempts', () => {
    const error = new ApiError(429, { code: 'rate', message: 'too many wrong tokens; wait 4 s' })
    expect(describeError(error).title).toBe('Too many attempts from this address')
  })

  it('a TypeError of fetch is described as a network failure', () => {
    expect(describeError(new TypeError('Failed to fetch')).title).toBe('Store unreachable')
  })

  it.each([
    [new Error('ouch'), 'Ouch.'],
    ['Ouch.', 'Ouch.'],
    [undefined, 'Undefined.'],
    [{ code: 'never-heard-of' }, '[object Object].'],
  ])('an unknown error is described by its message, as a sentence', (cause, advice) => {
    expect(describeError(cause)).toEqual({ title: 'Request failed', advice })
  })
})
