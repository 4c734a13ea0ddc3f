import { describe, expect, it } from 'vitest'
import { exitCodeOf, Failure, rootCause } from '../../src/cli/failure.js'
import { ArgumentError, ConnectionLostError, StateStoreError } from '../../src/core/util/errors.js'

describe('exitCodeOf', () => {
  it('returns the code of a failure, 2 for an argument error, and 1 for any other error', () => {
    expect(exitCodeOf(new Failure(3, 'no'))).toBe(3)
    expect(exitCodeOf(new ArgumentError('no'))).toBe(2)
    expect(exitCodeOf(new StateStoreError('timeout', 'no'))).toBe(1)
    expect(exitCodeOf(new TypeError('no'))).toBe(1)
    expect(exitCodeOf('no')).toBe(1)
  })
})

describe('rootCause', () => {
  it('returns the innermost message', () => {
    const error = new ConnectionLostError('lost', { cause: new Error('outer', { cause: new Error('inner') }) })
    expect(rootCause(error)).toBe('inner')
    expect(rootCause(new ConnectionLostError('lost'))).toBe('lost')
    expect(rootCause('text')).toBe('text')
  })

  it('includes every address of a host once', () => {
    const [v6, v4] = [new Error('connect ECONNREFUSED ::1:1883'), new Error('connect ECONNREFUSED 127.0.0.1:1883')]
    const error = new ConnectionLostError('lost', { cause: new AggregateError([v6, v4, v4], '') })
    expect(rootCause(error)).toBe('connect ECONNREFUSED ::1:1883, connect ECONNREFUSED 127.0.0.1:1883')
  })
})
