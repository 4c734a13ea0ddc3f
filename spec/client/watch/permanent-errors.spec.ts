import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isPermanentError } from '../../../src/client/watch/permanent-errors.js'
import { type ErrorCode, RequestRejectedError, StateStoreError } from '../../../src/core/util/errors.js'

/** A complete list of codes, which fails to compile if one is missing. */
const CODES: Record<ErrorCode, true> = {
  argument: true,
  timeout: true,
  'outcome-unknown': true,
  closed: true,
  aborted: true,
  overflow: true,
  'connection-refused': true,
  'connection-lost': true,
  credentials: true,
  'no-store': true,
  'not-installed': true,
  damaged: true,
  diverged: true,
  format: true,
  'in-use': true,
  payload: true,
  decode: true,
  hlc: true,
  'request-rejected': true,
  'snapshot-failed': true,
  superseded: true,
  'log-key': true,
  'lease-lost': true,
  conflict: true,
  offline: true,
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

/** For each code, whether a watch retries according to docs/errors.md. */
const DOCUMENTED = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  .split('\n## ')
  .slice(1)
  .map(entry => ({ code: /`(.+)`/.exec(entry)?.[1], again: /\*\*A watch\*\* tries again/.test(entry) }))

const isCode = (text: string | undefined): text is ErrorCode => text !== undefined && text in CODES

describe('errors of a watch or a lease', () => {
  it('docs/errors.md says for every code whether a watch retries', () => {
    expect(DOCUMENTED.map(({ code }) => code).sort()).toEqual(Object.keys(CODES).sort())
  })

  it.each(DOCUMENTED)('an error is permanent or transient as docs/errors.md says: %o', ({ code, again }) => {
    expect(isCode(code) && isPermanentError(new StateStoreError(code, 'words'))).toBe(!again)
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
