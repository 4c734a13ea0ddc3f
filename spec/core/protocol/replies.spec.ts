import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Dialect,
  encodeReply,
  type Reply,
  readConditional,
  readDeleted,
  readPage,
  readValue,
  readWatched,
} from '../../../src/core/protocol/replies.js'
import type { KnownServiceErrorCode } from '../../../src/core/protocol/service-errors.js'
import { fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { PayloadError, ServiceError } from '../../../src/core/util/errors.js'

const DIALECTS: readonly Dialect[] = ['field', 'documented']
const UNEXPECTED = expect.objectContaining({ name: 'PayloadError', code: 'payload' })

const READERS = [
  ['readConditional', readConditional],
  ['readValue', readValue],
  ['readDeleted', readDeleted],
  ['readWatched', readWatched],
] as const

const read = <T>(reader: (payload: Uint8Array, key: string) => T, payload: string): T => reader(utf8(payload), 'k')

describe('encodeReply', () => {
  it.each<[Reply, string, string]>([
    [{ type: 'ok' }, '+OK\r\n', '+OK\r\n'],
    [{ type: 'value', value: utf8('1234') }, '$4\r\n1234\r\n', '$4\r\n1234\r\n'],
    [{ type: 'value', value: utf8('') }, '$0\r\n\r\n', '$0\r\n\r\n'],
    [{ type: 'absent' }, '$-1\r\n', '$-1\r\n'],
    [{ type: 'count', count: 0 }, ':0\r\n', ':0\r\n'],
    [{ type: 'count', count: 1 }, ':1\r\n', ':1\r\n'],
    [{ type: 'refused' }, ':-1\r\n', '-1\r\n'],
    [{ type: 'page', keys: [], token: undefined }, '*1\r\n*0\r\n', '*1\r\n*0\r\n'],
    [
      { type: 'page', keys: [utf8('ab')], token: utf8('') },
      '*2\r\n*1\r\n$2\r\nab\r\n$0\r\n\r\n',
      '*2\r\n*1\r\n$2\r\nab\r\n$0\r\n\r\n',
    ],
    [{ type: 'error', code: 'syntax-error' }, '-ERR syntax error\r\n', '-ERR syntax error\r\n'],
    [{ type: 'error', code: 'key-empty' }, '-ERR the key length is zero\r\n', '-ERR the key length is zero\r\n'],
  ])('encodes %j as %j in the field dialect and as %j in the documented dialect', (reply, field, documented) => {
    expect(fromUtf8(encodeReply(reply))).toBe(field)
    expect(fromUtf8(encodeReply(reply, 'field'))).toBe(field)
    expect(fromUtf8(encodeReply(reply, 'documented'))).toBe(documented)
  })

  it('an error of KEYNOTIFY has the prefix of its section on the page in the documented dialect', () => {
    const error: Reply = { type: 'error', code: 'syntax-error' }
    expect(fromUtf8(encodeReply(error, 'documented', true))).toBe('-ERR: syntax error\r\n')
    expect(fromUtf8(encodeReply(error, 'field', true))).toBe('-ERR syntax error\r\n')
  })

  it.each(DIALECTS)('produces replies that the readers restore in the %s dialect', dialect => {
    const conditional = (reply: Reply): string => readConditional(encodeReply(reply, dialect), 'k')
    expect(conditional({ type: 'ok' })).toBe('applied')
    expect(conditional({ type: 'count', count: 1 })).toBe('applied')
    expect(conditional({ type: 'count', count: 0 })).toBe('missing')
    expect(conditional({ type: 'refused' })).toBe('refused')
    expect(readDeleted(encodeReply({ type: 'count', count: 1 }, dialect), 'k')).toBe(true)
    expect(readDeleted(encodeReply({ type: 'count', count: 0 }, dialect), 'k')).toBe(false)
    expect(readWatched(encodeReply({ type: 'ok' }, dialect), 'k')).toBe(true)
    expect(readWatched(encodeReply({ type: 'count', count: 0 }, dialect), 'k')).toBe(false)
    expect(readValue(encodeReply({ type: 'absent' }, dialect), 'k')).toBeUndefined()
  })

  it('encodes values so that readValue returns them unchanged', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.constantFrom(...DIALECTS), (value, dialect) => {
        expect(readValue(encodeReply({ type: 'value', value }, dialect), 'k')).toEqual(value)
      }),
    )
  })
})

describe('readConditional', () => {
  it.each([
    ['+OK\r\n', 'applied'],
    ['+OK', 'applied'],
    [':1\r\n', 'applied'],
    [':1', 'applied'],
    [':0\r\n', 'missing'],
    [':-1\r\n', 'refused'],
    [':-1', 'refused'],
    ['-1\r\n', 'refused'],
    ['-1', 'refused'],
    ['$-1\r\n', 'refused'],
  ])('returns the result of the reply %j as %s', (payload, outcome) => {
    expect(read(readConditional, payload)).toBe(outcome)
  })

  it.each(['+ok\r\n', '+\r\n', '+OK \r\n', ':2\r\n', ':-2\r\n', '$2\r\nOK\r\n', '$0\r\n\r\n', '*0\r\n', '', 'OK\r\n'])(
    'rejects %j',
    payload => {
      expect(() => read(readConditional, payload)).toThrow(UNEXPECTED)
    },
  )
})

describe('readValue', () => {
  it.each([
    ['$4\r\n1234\r\n', '1234'],
    ['$4\r\n1234', '1234'],
    ['$0\r\n\r\n', ''],
    ['$2\r\n\r\n\r\n', '\r\n'],
  ])('returns the value in %j', (payload, text) => {
    expect(read(readValue, payload)).toEqual(utf8(text))
  })

  it('distinguishes a missing key from an empty value', () => {
    expect(read(readValue, '$-1\r\n')).toBeUndefined()
    expect(read(readValue, '$0\r\n\r\n')).toBeInstanceOf(Uint8Array)
  })

  it.each([
    '$5\r\n1234',
    '$3\r\n1234\r\n',
    '$4\r\n1234\r',
    '$4\r\n1234\r\n1',
    '$-2\r\n',
    '$999999999999999\r\n1234\r\n',
  ])('rejects %j, a blob with an incorrect length', payload => {
    expect(() => read(readValue, payload)).toThrow(UNEXPECTED)
  })

  it.each(['+OK\r\n', ':1\r\n', ':-1\r\n', '-1\r\n', '*1\r\n$1\r\na\r\n', '', '1234'])('rejects %j', payload => {
    expect(() => read(readValue, payload)).toThrow(UNEXPECTED)
  })
})

describe('readDeleted', () => {
  it.each([
    [':1\r\n', true],
    [':1', true],
    [':0\r\n', false],
    [':0', false],
  ])('returns the result of the reply %j as %s', (payload, deleted) => {
    expect(read(readDeleted, payload)).toBe(deleted)
  })

  it.each(['+OK\r\n', ':2\r\n', ':-1\r\n', '-1\r\n', '$-1\r\n', '$1\r\n1\r\n', '*0\r\n', ''])('rejects %j', payload => {
    expect(() => read(readDeleted, payload)).toThrow(UNEXPECTED)
  })
})

describe('readWatched', () => {
  it.each([
    ['+OK\r\n', true],
    ['+OK', true],
    [':0\r\n', false],
    [':0', false],
  ])('returns the result of the reply %j as %s', (payload, watched) => {
    expect(read(readWatched, payload)).toBe(watched)
  })

  it.each(['+NO\r\n', ':1\r\n', ':-1\r\n', '-1\r\n', '$2\r\nOK\r\n', '$-1\r\n', '*0\r\n', ''])(
    'rejects %j',
    payload => {
      expect(() => read(readWatched, payload)).toThrow(UNEXPECTED)
    },
  )
})

describe('readPage', () => {
  it('returns keys of any bytes, with or without a token', () => {
    const anyKeys = fc.array(fc.uint8Array({ minLength: 1 }), { maxLength: 5 })
    fc.assert(
      fc.property(anyKeys, fc.option(fc.uint8Array(), { nil: undefined }), (keys, token) => {
        expect(readPage(encodeReply({ type: 'page', keys, token }))).toEqual({ keys, token })
      }),
    )
  })

  it.each([
    ['no array', '$1\r\na\r\n'],
    ['an empty array', '*0\r\n'],
    ['keys without an enclosing array', '*1\r\n$1\r\na\r\n'],
    ['three parts', '*3\r\n*0\r\n$1\r\nt\r\n$1\r\nt\r\n'],
    ['a key that is nil', '*1\r\n*1\r\n$-1\r\n'],
    ['an empty key', '*1\r\n*1\r\n$0\r\n\r\n'],
    ['a key that is an array', '*1\r\n*1\r\n*0\r\n'],
    ['a key that is a number', '*1\r\n*1\r\n:1\r\n'],
    ['a token that is nil', '*2\r\n*0\r\n$-1\r\n'],
    ['a token that is an array', '*2\r\n*0\r\n*0\r\n'],
    ['fewer keys than announced', '*1\r\n*2\r\n$1\r\na\r\n'],
    ['a hostile number of keys', '*1\r\n*99999999\r\n$1\r\na\r\n'],
    ['bytes after the end', '*1\r\n*0\r\n\r\n'],
    ['nothing', ''],
    ['+OK', '+OK\r\n'],
  ])('rejects %s', (_, payload) => {
    expect(() => readPage(utf8(payload))).toThrow(UNEXPECTED)
  })

  it.each([
    ['-ERR unknown command\r\n', 'unknown-command', 'it has no SCAN and cannot list its keys'],
    ['-ERR: unknown command\r\n', 'unknown-command', 'it has no SCAN and cannot list its keys'],
    ['-ERR syntax error\r\n', 'syntax-error', 'scan again'],
    ['-ERR not authorized\r\n', 'not-authorized', 'not authorized'],
    ['-1\r\n', 'service-unknown', '1'],
  ])('throws ServiceError with advice for %j', (payload, code, end) => {
    const raised = { name: 'ServiceError', code, key: undefined, message: expect.stringMatching(new RegExp(`${end}$`)) }
    expect(() => readPage(utf8(payload))).toThrow(expect.objectContaining(raised))
  })
})

describe.each(READERS)('%s', (_, reader) => {
  it.each<[string, KnownServiceErrorCode | 'service-unknown', string]>([
    ['-ERR unknown command\r\n', 'unknown-command', 'unknown command'],
    ['-ERR: unknown command\r\n', 'unknown-command', 'unknown command'],
    ['-ERR syntax error', 'syntax-error', 'syntax error'],
    ['-ERR something new\r\n', 'service-unknown', 'something new'],
    ['-something else\r\n', 'service-unknown', 'something else'],
    ['-2\r\n', 'service-unknown', '2'],
    ['-\r\n', 'service-unknown', ''],
  ])('each reader throws ServiceError for %j', (payload, code, text) => {
    const raised = expect.objectContaining({ name: 'ServiceError', code, text, key: 'k' })
    expect(() => read<unknown>(reader, payload)).toThrow(raised)
  })

  it('each reader includes the key in the error when the reply has an unexpected form', () => {
    expect(() => reader(utf8('*0\r\n'), 'panel "7"')).toThrow('"panel \\"7\\""')
  })

  it('each reader rejects a truncated reply or reads it like the whole reply', () => {
    const replies: Reply[] = [
      { type: 'ok' },
      { type: 'value', value: utf8('12\r\n34') },
      { type: 'absent' },
      { type: 'count', count: 0 },
      { type: 'count', count: 1 },
      { type: 'refused' },
      { type: 'error', code: 'clock-skew' },
    ]
    const outcome = (payload: Uint8Array): unknown => {
      try {
        return { value: reader(payload, 'k') }
      } catch (error) {
        if (error instanceof PayloadError || error instanceof ServiceError) return 'refused'
        throw error
      }
    }
    for (const payload of DIALECTS.flatMap(dialect => replies.map(reply => encodeReply(reply, dialect)))) {
      const whole = outcome(payload)
      for (let end = 0; end < payload.length; end++) {
        const short = outcome(payload.subarray(0, end))
        if (short !== 'refused') expect(short, `the first ${end} bytes`).toEqual(whole)
      }
    }
  })
})
