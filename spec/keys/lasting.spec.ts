import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type ErrorCode, RequestRejectedError, StateStoreError } from '../../src/base/errors.js'
import { isLasting } from '../../src/keys/lasting.js'

const ENDS: readonly ErrorCode[] = [
  'argument',
  'aborted',
  'closed',
  'connection-refused',
  'not-authorized',
  'lock-key',
  'lease-lost',
  'pubsub-refused',
  'damaged',
  'format',
  'in-use',
]

const AGAIN: readonly ErrorCode[] = [
  'timeout',
  'outcome-unknown',
  'overflow',
  'connection-lost',
  'clock-skew',
  'quota-exceeded',
  'service-unknown',
  'payload',
  'decode',
  'hlc',
  'request-rejected',
  'syntax-error',
  'unknown-command',
  'wrong-argument-count',
  'timestamp-missing',
  'timestamp-malformed',
  'key-empty',
  'fencing-token-required',
  'fencing-token-stale',
  'fencing-token-skew',
]

/** Fails to compile when a code is in neither list; a code in both makes the counts differ. */
const COUNTED: Record<ErrorCode, true> = {
  argument: true,
  timeout: true,
  'outcome-unknown': true,
  closed: true,
  aborted: true,
  overflow: true,
  'connection-refused': true,
  'connection-lost': true,
  damaged: true,
  format: true,
  'in-use': true,
  payload: true,
  decode: true,
  hlc: true,
  'request-rejected': true,
  'lease-lost': true,
  'lock-key': true,
  'pubsub-refused': true,
  'clock-skew': true,
  'fencing-token-required': true,
  'fencing-token-skew': true,
  'fencing-token-stale': true,
  'quota-exceeded': true,
  'syntax-error': true,
  'not-authorized': true,
  'unknown-command': true,
  'wrong-argument-count': true,
  'timestamp-missing': true,
  'timestamp-malformed': true,
  'key-empty': true,
  'service-unknown': true,
}

describe('an error of a watch or a lease', () => {
  it('is decided for every code', () => {
    expect([...ENDS, ...AGAIN].sort()).toEqual(Object.keys(COUNTED).sort())
  })

  it('is explained for every code, with what becomes of a watch', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const entries = page.split('\n## ').slice(1)
    const told = entries.map(entry => [/`(.+)`/.exec(entry)?.[1], /A watch:\*\* tries again/.test(entry)])
    const known = [...ENDS.map(code => [code, false]), ...AGAIN.map(code => [code, true])]
    expect(told.sort()).toEqual(known.sort())
  })

  it.each(ENDS)('ends it: %s', code => {
    expect(isLasting(new StateStoreError(code, 'words'))).toBe(true)
  })

  it.each(AGAIN)('is tried again: %s', code => {
    expect(isLasting(new StateStoreError(code, 'words'))).toBe(false)
  })

  it('ends it when the broker says that the client may not publish, and with no other reason of a PUBACK', () => {
    const ending = Array.from({ length: 256 }, (_, status) => status).filter(status =>
      isLasting(new RequestRejectedError(status, 'words')),
    )
    expect(ending).toEqual([135])
  })

  it('ends it when it is a fault of ours', () => {
    expect(isLasting(new TypeError('undefined is not a function'))).toBe(true)
  })
})
