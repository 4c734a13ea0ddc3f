import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeNotification, type Notification, parseNotification } from '../../../src/core/protocol/notifications.js'
import { encodeArray } from '../../../src/core/resp3/encode.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { PayloadError } from '../../../src/core/util/errors.js'

const REFUSAL = expect.objectContaining({ name: 'PayloadError', code: 'payload' })

const anyNotification: fc.Arbitrary<Notification> = fc.oneof(
  fc.record({ op: fc.constant('set'), value: fc.option(fc.uint8Array(), { nil: undefined }) }),
  fc.constant({ op: 'delete' }),
)

const notification = (...words: string[]): Uint8Array => encodeArray(words.map(utf8))

describe('encodeNotification', () => {
  it('encodes a set with its value', () => {
    expect(fromUtf8(encodeNotification({ op: 'set', value: utf8('abc') }))).toBe(
      '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$3\r\nabc\r\n',
    )
  })

  it('distinguishes an empty value from a missing one', () => {
    expect(fromUtf8(encodeNotification({ op: 'set', value: utf8('') }))).toBe(
      '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$0\r\n\r\n',
    )
    expect(fromUtf8(encodeNotification({ op: 'set', value: undefined }))).toBe('*2\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n')
  })

  it('encodes a delete as deployed stores do, or as documented on request', () => {
    expect(fromUtf8(encodeNotification({ op: 'delete' }))).toBe('*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n')
    expect(fromUtf8(encodeNotification({ op: 'delete' }, 'field'))).toBe('*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n')
    expect(fromUtf8(encodeNotification({ op: 'delete' }, 'documented'))).toBe('*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n')
  })

  it.each(['field', 'documented'] as const)(
    'produces notifications that parseNotification restores in the %s dialect',
    dialect => {
      fc.assert(
        fc.property(anyNotification, notification => {
          expect(parseNotification(encodeNotification(notification, dialect))).toEqual(notification)
        }),
      )
    },
  )
})

describe('parseNotification', () => {
  it.each<[string[], Notification]>([
    [['NOTIFY', 'SET', 'VALUE', 'abc'], { op: 'set', value: utf8('abc') }],
    [['NOTIFY', 'SET', 'VALUE', ''], { op: 'set', value: utf8('') }],
    [['NOTIFY', 'SET', 'VALUE', 'VALUE'], { op: 'set', value: utf8('VALUE') }],
    [['NOTIFY', 'SET'], { op: 'set', value: undefined }],
    [['NOTIFY', 'DELETE'], { op: 'delete' }],
    [['NOTIFY', 'DEL'], { op: 'delete' }],
  ])('parses %j', (words, expected) => {
    expect(parseNotification(notification(...words))).toEqual(expected)
  })

  it('parses a value that is not text', () => {
    const value = Uint8Array.of(0xff, 0x0d, 0x0a, 0x00)
    const payload = encodeArray([utf8('NOTIFY'), utf8('SET'), utf8('VALUE'), value])
    expect(parseNotification(payload)).toEqual({ op: 'set', value })
  })

  it.each([
    [[]],
    [['NOTIFY']],
    [['SET', 'VALUE', 'abc']],
    [['NOTIFY', 'SET', 'VALUE']],
    [['NOTIFY', 'SET', 'VALUE', 'abc', 'more']],
    [['NOTIFY', 'SET', 'OTHER', 'abc']],
    [['NOTIFY', 'SET', 'abc']],
    [['NOTIFY', 'DELETE', 'VALUE', 'abc']],
    [['NOTIFY', 'DELETE', 'more']],
    [['NOTIFY', 'EXPIRE']],
    [['NOTIFY', '']],
    [['OTHER', 'SET']],
    [['OTHER', 'DELETE']],
    [['OTHER', 'SET', 'VALUE', 'abc']],
    [['notify', 'DELETE']],
    [['NOTIFY', 'delete']],
    [['NOTIFY', 'set', 'VALUE', 'abc']],
    [['NOTIFY', 'SET', 'value', 'abc']],
    [['\ufeffNOTIFY', 'DELETE']],
  ])('rejects %j', words => {
    expect(() => parseNotification(notification(...words))).toThrow(REFUSAL)
  })

  it.each([
    ['no bytes', ''],
    ['no array', '+OK\r\n'],
    ['a nil value', '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$-1\r\n'],
    ['a value that is an integer', '*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n:1\r\n'],
    ['simple strings', '*2\r\n+NOTIFY\r\n+DELETE\r\n'],
    ['a missing final CRLF', '*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE'],
    ['trailing bytes', '*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n\r\n'],
  ])('rejects %s', (_, payload) => {
    expect(() => parseNotification(utf8(payload))).toThrow(REFUSAL)
  })

  it('rejects every proper prefix of a notification', () => {
    fc.assert(
      fc.property(anyNotification, notification => {
        const payload = encodeNotification(notification)
        for (let end = 0; end < payload.length; end++) {
          expect(() => parseNotification(payload.subarray(0, end)), `the first ${end} bytes`).toThrow(PayloadError)
        }
      }),
    )
  })

  it('includes the unexpected payload in the error, truncated', () => {
    expect(() => parseNotification(notification('NOTIFY', 'EXPIRE'))).toThrow('Not a notification: NOTIFY EXPIRE')
    let message = ''
    try {
      parseNotification(notification('NOTIFY', 'x'.repeat(10_000)))
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('NOTIFY xxx')
    expect(message.length).toBeLessThan(150)
  })

  it('rejects words that are not text instead of misinterpreting them', () => {
    const payload = encodeArray([utf8('NOTIFY'), Uint8Array.of(0x44, 0x45, 0x4c, 0xff)])
    expect(() => parseNotification(payload)).toThrow(REFUSAL)
  })
})
