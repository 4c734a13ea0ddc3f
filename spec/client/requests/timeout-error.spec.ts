import { expect, it } from 'vitest'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { ConnectionLostError, type StateStoreError } from '../../../src/core/util/errors.js'
import { CONNECTION, FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { loggedRequest, openInvoker } from './open-invoker.js'

const REFUSED = new ConnectionLostError('connect ECONNREFUSED 127.0.0.1:1884')

/** Opens an invoker, and returns a function that sends a request for the key `a` and returns its error. */
function open() {
  const clock = new ManualClock()
  const invoker = openInvoker(new FakeSession(), clock)
  const errorAfter = (ms: number, options: Partial<RpcRequest> = {}): StateStoreError | undefined => {
    let error: StateStoreError | undefined
    const failed = (cause: StateStoreError): void => {
      error = cause
    }
    invoker.send({ ...loggedRequest('a', clock, []), failed, timeout: ms, ...options })
    clock.advance(ms)
    return error
  }
  const up = (info: Partial<ConnectionInfo> = {}): void => {
    invoker.connected({ ...CONNECTION, ...info })
    invoker.ready({ ...CONNECTION, ...info })
  }
  return { invoker, errorAfter, up }
}

it('before the first connection, a timeout says so and names what to check', () => {
  const error = open().errorAfter(500)
  expect(error).toMatchObject({
    code: 'timeout',
    message:
      'No answer within 500 ms for key "a" (the client has not connected to the broker yet: check the address, ' +
      'the network and the credentials); the request changed nothing and may be repeated',
  })
  expect(error).not.toHaveProperty('cause')
})

it('the error of a timeout before the first connection contains the last error of connecting', () => {
  const { invoker, errorAfter } = open()
  invoker.disconnected(REFUSED)
  expect(errorAfter(10_000)).toMatchObject({
    code: 'timeout',
    message: expect.stringMatching(/has not connected.*; last error: connect ECONNREFUSED 127\.0\.0\.1:1884\);/),
    cause: REFUSED,
  })
})

it('the error of a timeout while disconnected contains the cause of the disconnect', () => {
  const { invoker, errorAfter, up } = open()
  up()
  invoker.disconnected(REFUSED)
  expect(errorAfter(10_000)).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('(not connected: connect ECONNREFUSED 127.0.0.1:1884)'),
    cause: REFUSED,
  })
})

it("a timeout while waiting for acknowledgements names the broker's limit", () => {
  const { invoker, errorAfter, up } = open()
  up({ receiveMaximum: 1 })
  invoker.send(loggedRequest('earlier', new ManualClock(), []))
  expect(errorAfter(500)).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('(earlier requests await acknowledgement, and the broker accepts 1)'),
  })
})

it('the error of a timeout while connected mentions no connection error', () => {
  const { invoker, errorAfter, up } = open()
  invoker.disconnected(REFUSED)
  up()
  expect(errorAfter(10_000, { isRepeatable: true })).toMatchObject({
    code: 'timeout',
    message: expect.not.stringContaining('connected'),
  })
})
