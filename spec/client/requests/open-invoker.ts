import { Invoker } from '../../../src/client/requests/invoker.js'
import type { RpcRequest } from '../../../src/client/requests/request.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import type { Clock } from '../../../src/core/util/clock.js'
import type { FakeSession } from '../../support/fake-session.js'

export const RESPONSE_TOPIC = 'clients/me/response'

/** Opens an invoker that receives only messages on the response topic. */
export function openInvoker(session: FakeSession, clock: Clock, limit = 100): Invoker {
  const opened = new Invoker({ session, responseTopic: RESPONSE_TOPIC, clock, limit })
  session.open({
    connected: () => undefined,
    disconnected: () => undefined,
    failed: () => undefined,
    closed: () => undefined,
    message: message => opened.received(message),
  })
  return opened
}

/** Returns a request whose outcome is logged as `name: ...`. */
export const loggedRequest = (name: string, clock: Pick<Clock, 'now'>, log: string[]): RpcRequest => ({
  key: name,
  payload: utf8(name),
  timeout: 10_000,
  isRepeatable: false,
  commonProperties: {},
  userProperties: () => ({ __ts: String(clock.now()) }),
  succeeded: reply => log.push(`${name}: ${new TextDecoder().decode(reply.payload)}`),
  failed: error => log.push(`${name}: ${error.code}`),
})
