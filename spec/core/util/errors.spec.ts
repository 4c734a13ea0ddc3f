import { runInNewContext } from 'node:vm'
import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { text } from '../../../src/client/keys/codec.js'
import { LeaseLostError, LockKeyError } from '../../../src/client/lease/lease-state.js'
import { NoStoreError } from '../../../src/client/requests/request.js'
import {
  AbortError,
  ArgumentError,
  ClosedError,
  ConnectionLostError,
  ConnectionRefusedError,
  DecodeError,
  errorLabel,
  HlcError,
  OutcomeUnknownError,
  OverflowError,
  PayloadError,
  RequestRejectedError,
  reason,
  rootCause,
  ServiceError,
  StateStoreError,
  TimeoutError,
} from '../../../src/core/util/errors.js'
import { fakeStore } from '../../support/operator-session.js'

const cause = new RangeError('out of order')

const ERRORS: readonly { readonly name: string; readonly code: string; readonly error: StateStoreError }[] = [
  { name: 'StateStoreError', code: 'payload', error: new StateStoreError('payload', 'text', { cause }) },
  { name: 'ArgumentError', code: 'argument', error: new ArgumentError('text', { cause }) },
  { name: 'ServiceError', code: 'quota-exceeded', error: new ServiceError('quota-exceeded', 'text', 'k') },
  { name: 'TimeoutError', code: 'timeout', error: new TimeoutError(500, 'k') },
  { name: 'OutcomeUnknownError', code: 'outcome-unknown', error: new OutcomeUnknownError('text', 'k') },
  { name: 'NoStoreError', code: 'no-store', error: new NoStoreError('k') },
  { name: 'ClosedError', code: 'closed', error: new ClosedError() },
  { name: 'AbortError', code: 'aborted', error: new AbortError(cause) },
  { name: 'OverflowError', code: 'overflow', error: new OverflowError('The queue', 7) },
  { name: 'ConnectionRefusedError', code: 'connection-refused', error: new ConnectionRefusedError('text', 135) },
  { name: 'ConnectionLostError', code: 'connection-lost', error: new ConnectionLostError() },
  { name: 'PayloadError', code: 'payload', error: new PayloadError('text', { cause }) },
  { name: 'DecodeError', code: 'decode', error: new DecodeError('k', '7:1:a', cause) },
  { name: 'HlcError', code: 'hlc', error: new HlcError('drift', 'text') },
  { name: 'RequestRejectedError', code: 'request-rejected', error: new RequestRejectedError(400, 'text') },
  { name: 'LeaseLostError', code: 'lease-lost', error: new LeaseLostError('taken', 'k') },
  { name: 'LockKeyError', code: 'lock-key', error: new LockKeyError('k', 'text') },
]

describe.each(ERRORS)('$name', ({ name, code, error }) => {
  it(`each error has the name ${name} and the code ${code}`, () => {
    expect({ name: error.name, code: error.code }).toEqual({ name, code })
  })

  it('each error is an Error and a StateStoreError', () => {
    expect(error).toBeInstanceOf(Error)
    expect(error).toBeInstanceOf(StateStoreError)
  })

  it('each error is printed as its name and its message', () => {
    expect(error.message).not.toBe('')
    expect(String(error)).toBe(`${name}: ${error.message}`)
  })

  it('each error has a stack trace of the place where it was created', () => {
    expect(error.stack).toContain('errors.spec')
  })

  it('each error keeps its code in JSON, for callers that receive it from a worker or a log', () => {
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name, code })
  })
})

describe('the cause of an error', () => {
  it.each([
    new StateStoreError('payload', 'text', { cause }),
    new ArgumentError('text', { cause }),
    new ClosedError('text', { cause }),
    new AbortError(cause),
    new ConnectionRefusedError('text', 135, { cause }),
    new ConnectionLostError('text', { cause }),
    new PayloadError('text', { cause }),
    new DecodeError('k', undefined, cause),
  ])('is the given cause: $name', error => {
    expect(error.cause).toBe(cause)
  })

  it('is not a property if no cause is given', () => {
    for (const error of [new ArgumentError('text'), new ClosedError(), new TimeoutError(1)]) {
      expect(error).not.toHaveProperty('cause')
    }
  })
})

describe('the reason of an error', () => {
  it.each([
    ['this', (errors: Error[]) => new AggregateError(errors)],
    ['another', (errors: Error[]) => runInNewContext('new AggregateError(errors)', { errors })],
  ])('several failed addresses are all named by an error without a message of %s realm', (_, aggregate) => {
    const failed = aggregate([new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')])
    expect(reason(failed)).toBe('connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1')
    expect(rootCause(new Error('failed', { cause: failed }))).toContain('::1:1, connect')
  })

  it('the message of an error of another realm is its reason', () => {
    expect(reason(runInNewContext('new TypeError("no such file")'))).toBe('no such file')
  })
})

describe('an error message', () => {
  const key = 'line "1"\n'
  const quoted = '"line \\"1\\"\\n"'

  it.each([
    {
      error: new TimeoutError(500, key),
      message: `No answer within 500 ms for key ${quoted}; the request changed nothing and may be repeated`,
    },
    {
      error: new OutcomeUnknownError('the connection broke', key),
      message: `The outcome of a write for key ${quoted} is unknown: the connection broke; read the key before trying again`,
    },
    {
      error: new ServiceError('quota-exceeded', 'the quota has been exceeded', key),
      message: `The state store refused the request for key ${quoted}: the quota has been exceeded`,
    },
    {
      error: new DecodeError(key, '7:1:a', new PayloadError('Not a number: "x"')),
      message: `The value of ${quoted} (version 7:1:a) cannot be decoded: Not a number: "x"`,
    },
    {
      error: new OverflowError('The queue of requests', 7),
      message: 'The queue of requests is full (7); the request was not sent: slow down, raise the limit or conflate',
    },
    { error: new ClosedError(), message: 'The client is closed; connect again to continue' },
    { error: new ConnectionLostError(), message: 'The connection to the broker was lost' },
  ])('states what happened, for which key, and what to do: $error.name', ({ error, message }) => {
    expect(error.message).toBe(message)
  })

  it.each([
    {
      error: new TimeoutError(500),
      message: 'No answer within 500 ms; the request changed nothing and may be repeated',
    },
    {
      error: new OutcomeUnknownError('why'),
      message: 'The outcome of a write is unknown: why; read the key before trying again',
    },
    {
      error: new ServiceError('syntax-error', 'syntax error'),
      message: 'The state store refused the request: syntax error',
    },
    {
      error: new DecodeError('k', undefined, 'a text that was thrown'),
      message: 'The value of "k" (version unknown) cannot be decoded: a text that was thrown',
    },
  ])('omits unknown details: $error.name', ({ error, message }) => {
    expect(error.message).toBe(message)
  })

  it('names the key even if the store rejected the request', () => {
    const properties = { __stat: '400', __stMsg: 'no such property' }
    const { store } = fakeStore(() => of({ payload: '', properties }))
    const messages: string[] = []
    store
      .set('line-1', 'x', text)
      .subscribe({ error: (error: unknown) => messages.push(error instanceof Error ? error.message : 'no error') })
    expect(messages).toEqual([expect.stringContaining('no such property')])
    expect(messages).toEqual([expect.stringContaining('"line-1"')])
  })
})

describe('an error carries details for its caller', () => {
  it('the error has the key, and the version if one is known', () => {
    const errors = [
      new TimeoutError(1, 'k'),
      new OutcomeUnknownError('why', 'k'),
      new ServiceError('key-empty', 't', 'k'),
    ]
    expect(errors.map(({ key }) => key)).toEqual(['k', 'k', 'k'])
    expect(new DecodeError('k', '7:1:a', cause)).toMatchObject({ key: 'k', version: '7:1:a' })
    expect(new DecodeError('k', undefined, cause).version).toBeUndefined()
  })

  it('the error has the text of the store, even if this library does not know the text', () => {
    expect(new ServiceError('service-unknown', 'the moon is full').text).toBe('the moon is full')
  })

  it('the error has the reason code or status of the protocol', () => {
    expect(new ConnectionRefusedError('text', 135).reasonCode).toBe(135)
    expect(new ConnectionRefusedError('text').reasonCode).toBeUndefined()
    expect(new RequestRejectedError(505, 'text').status).toBe(505)
  })

  it.each(['malformed', 'drift'] as const)('the error has the problem of a clock: %s', problem => {
    expect(new HlcError(problem, 'text').problem).toBe(problem)
  })
})

describe('reason', () => {
  it.each([
    [new RangeError('out of order'), 'out of order'],
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [{ toString: () => 'shown' }, 'shown'],
    [Symbol('s'), 'Symbol(s)'],
  ])('returns the message of a thrown value: %s', (thrown, words) => {
    expect(reason(thrown)).toBe(words)
  })

  it('returns some text even for an object without a prototype', () => {
    expect(() => reason(Object.create(null))).not.toThrow()
  })
})

it.each<[unknown, string]>([
  [new RangeError('secret'), 'RangeError'],
  [Object.assign(new Error('secret'), { code: 'ERR_X' }), 'Error ERR_X'],
  [Object.assign(new Error('secret'), { code: 'line\nbreak' }), 'Error'],
  [Object.assign(new Error('secret'), { code: 7 }), 'Error'],
  [Object.assign(new Error('secret'), { code: 'x'.repeat(65) }), 'Error'],
  [Object.assign(new Error('secret'), { name: 'the secret' }), 'Error'],
  ['secret', 'a thrown string'],
  [undefined, 'a thrown undefined'],
])('the label of %j reveals nothing of its message', (error, kind) => {
  expect(errorLabel(error)).toBe(kind)
})
