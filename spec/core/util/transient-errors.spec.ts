import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type ErrorCode, RequestRejectedError, StateStoreError } from '../../../src/core/util/errors.js'
import { isPermanentError, isTransient } from '../../../src/core/util/transient-errors.js'

/**
 * For each code, whether the same request may succeed later. The table fails to compile if a code is missing, so a new
 * code cannot be added without a decision.
 */
const CODES: Record<ErrorCode, boolean> = {
  argument: false,
  timeout: true,
  'outcome-unknown': true,
  closed: false,
  aborted: false,
  overflow: true,
  'connection-refused': false,
  'connection-lost': true,
  credentials: false,
  'no-store': true,
  'not-installed': false,
  damaged: false,
  diverged: false,
  format: false,
  'in-use': false,
  'keys-missing': false,
  'lock-unknown': false,
  payload: false,
  decode: false,
  hlc: false,
  'request-rejected': false,
  'snapshot-failed': false,
  superseded: false,
  'log-key': false,
  'lease-lost': false,
  conflict: false,
  offline: false,
  'lock-key': false,
  'pubsub-refused': false,
  'clock-skew': true,
  'fencing-token-required': false,
  'fencing-token-skew': false,
  'fencing-token-stale': false,
  'quota-exceeded': true,
  'syntax-error': false,
  'not-authorized': false,
  'unknown-command': false,
  'wrong-argument-count': false,
  'timestamp-missing': false,
  'timestamp-malformed': false,
  'key-empty': false,
  'service-unknown': true,
}

/** For each code, whether a watch retries according to docs/errors.md. */
const DOCUMENTED = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  .split('\n## ')
  .slice(1)
  .map(entry => ({ code: /`(.+)`/.exec(entry)?.[1], again: /\*\*A watch\*\* tries again/.test(entry) }))

const isCode = (text: string | undefined): text is ErrorCode => text !== undefined && text in CODES

describe('errors that pass, and errors that end a watch or a lease', () => {
  it('docs/errors.md says for every code whether a watch retries', () => {
    expect(DOCUMENTED.map(({ code }) => code).sort()).toEqual(Object.keys(CODES).sort())
  })

  it.each(DOCUMENTED)('an error is permanent or transient as docs/errors.md says: %o', ({ code, again }) => {
    expect(isCode(code) && isPermanentError(new StateStoreError(code, 'words'))).toBe(!again)
  })

  it.each(Object.entries(CODES))('the code %s is transient: %s', (code, expected) => {
    expect(isCode(code) && isTransient(new StateStoreError(code, 'words'))).toBe(expected)
  })

  it.each([
    [128, true],
    [131, true],
    [135, false],
    [144, false],
    [151, true],
    [400, false],
    [408, true],
    [500, true],
    [503, true],
  ])('a request rejected with status %i is transient: %s', (status, expected) => {
    expect(isTransient(new RequestRejectedError(status, 'words'))).toBe(expected)
  })

  it('of the reason codes of a PUBACK, only `not authorized` ends a watch', () => {
    const endingStatuses = Array.from({ length: 256 }, (_, status) => status).filter(status =>
      isPermanentError(new RequestRejectedError(status, 'words')),
    )
    expect(endingStatuses).toEqual([135])
  })

  it('an unexpected error of the client itself ends a watch', () => {
    expect(isPermanentError(new TypeError('undefined is not a function'))).toBe(true)
  })
})
