import { describe, expect, it } from 'vitest'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import { type KnownServiceErrorCode, SERVICE_ERRORS, serviceError } from '../../../src/core/protocol/service-errors.js'
import { fromUtf8 } from '../../../src/core/util/bytes.js'
import { ServiceError, StateStoreError } from '../../../src/core/util/errors.js'

// Copied from the protocol instead of the source, because other implementations send and expect these bytes.
const TEXTS: readonly (readonly [KnownServiceErrorCode, string])[] = [
  [
    'clock-skew',
    'the request timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
  ],
  ['fencing-token-required', 'a fencing token is required for this request'],
  [
    'fencing-token-skew',
    'the request fencing token timestamp is too far in the future; ensure that the client and broker system clocks are synchronized',
  ],
  [
    'fencing-token-stale',
    'the request fencing token is a lower version than the fencing token protecting the resource',
  ],
  ['quota-exceeded', 'the quota has been exceeded'],
  ['syntax-error', 'syntax error'],
  ['not-authorized', 'not authorized'],
  ['unknown-command', 'unknown command'],
  ['wrong-argument-count', 'wrong number of arguments'],
  ['timestamp-missing', 'missing timestamp'],
  ['timestamp-malformed', 'malformed timestamp'],
  ['key-empty', 'the key length is zero'],
]

describe('SERVICE_ERRORS', () => {
  it('contains exactly the error texts of the protocol', () => {
    expect(SERVICE_ERRORS).toEqual(Object.fromEntries(TEXTS))
  })
})

describe.each(TEXTS)('the error %s', (code, text) => {
  it('a service error is encoded in both dialects', () => {
    expect(fromUtf8(encodeReply({ type: 'error', code }))).toBe(`-ERR ${text}\r\n`)
    expect(fromUtf8(encodeReply({ type: 'error', code }, 'documented', true))).toBe(`-ERR: ${text}\r\n`)
  })

  it.each([
    ['ERR ', ''],
    ['ERR: ', ''],
    ['ERR:', ''],
    ['', ''],
    ['ERR ', ' '],
  ])('a service error is recognized with %j before its text and %j after it', (prefix, suffix) => {
    expect(serviceError(`${prefix}${text}${suffix}`, 'k')).toMatchObject({ code, text, key: 'k' })
  })
})

describe('serviceError', () => {
  it("returns a ServiceError with the key and the store's text", () => {
    const error = serviceError('ERR not authorized', 'panel 7')
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toBeInstanceOf(StateStoreError)
    expect(error.name).toBe('ServiceError')
    expect(error.message).toContain('"panel 7"')
    expect(error.message).toContain('not authorized')
  })

  it('can be called without a key', () => {
    const error = serviceError('ERR not authorized')
    expect(error.key).toBeUndefined()
    expect(error.message).not.toContain('undefined')
  })

  it("a stale fencing token is recognized by the text's start, also in its older spelling", () => {
    const older = 'the request fencing token is a lower version that the fencing token protecting the resource'
    expect(serviceError(`ERR ${older}`)).toMatchObject({ code: 'fencing-token-stale', text: older })
    const short = 'the request fencing token is a lower version'
    expect(serviceError(`ERR: ${short}`)).toMatchObject({ code: 'fencing-token-stale', text: short })
  })

  it.each([
    ['ERR the disk is full', 'the disk is full'],
    ['ERR: the disk is full', 'the disk is full'],
    ['WRONGTYPE of value', 'WRONGTYPE of value'],
    ['ERR', ''],
    ['', ''],
    ['err syntax error', 'err syntax error'],
    ['ERR Syntax Error', 'Syntax Error'],
    ['ERR syntax error near PX', 'syntax error near PX'],
    ['ERR ERR syntax error', 'ERR syntax error'],
    ['ERR toString', 'toString'],
    ['ERR __proto__', '__proto__'],
  ])('keeps the text of the unknown error %j', (line, text) => {
    expect(serviceError(line)).toMatchObject({ code: 'service-unknown', text })
  })

  it.each(['ERROR the disk is full', 'ERRATIC disk', 'ERRsyntax error'])('keeps the text %j verbatim', line => {
    expect(serviceError(line)).toMatchObject({ code: 'service-unknown', text: line })
  })
})
