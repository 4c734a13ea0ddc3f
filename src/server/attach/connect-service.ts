import { openServiceSession } from '../../client/session/open-session.js'
import { backingOff } from '../../client/session/reconnect.js'
import type { ServiceSession } from '../../client/session/session.js'
import { AWAY, LIFE_TOPIC } from '../../core/protocol/topics.js'
import type { Clock } from '../../core/util/clock.js'
import type { Settings } from './options.js'

/** ms the broker keeps the session: so long requests wait for a store that comes back. */
const SESSION_EXPIRY = 30_000
/** s until the broker says that the store is away. */
const WILL_DELAY = 1
/**
 * Requests that are under way at a time. Not few: of what waits for its turn beyond them Mosquitto 2.0 lets newer ones
 * overtake older ones after some have expired. Not many: all of them may come again, and be known then.
 */
const RECEIVE_MAXIMUM = 16_384

/**
 * The session in which requests come, under the client id that all services have in common.
 *
 * @param contests - whether to come back to the client id when it was taken
 */
export function connectService(
  url: string,
  { clientId, connecting, maximumPacketSize }: Settings,
  contests: () => boolean,
  clock: Clock,
): ServiceSession {
  const { reconnect = {}, credentials } = connecting
  const options = {
    ...connecting,
    urls: [url],
    clientId,
    maximumPacketSize,
    keepAlive: connecting.keepAlive ?? 10_000,
    connectTimeout: connecting.connectTimeout ?? 10_000,
    sessionExpiry: SESSION_EXPIRY,
    cleanStart: false,
    receiveMaximum: RECEIVE_MAXIMUM,
    will: { topic: LIFE_TOPIC, payload: AWAY, delay: WILL_DELAY },
  }
  const reconnecting = { strategy: backingOff(reconnect), credentials, contests, isPersistent: true }
  return openServiceSession(options, reconnecting, clock)
}
