import type { StateStoreError } from '../../core/util/errors.js'

/** State of the connection to a hub. Times are wall times, ms since the Unix epoch. */
export type PubSubStatus =
  | { readonly state: 'connecting' }
  | {
      /** The hub has confirmed the session: by its first frame, or after a recovery by any. */
      readonly state: 'connected'
      readonly connectionId: string
      /** Missing for an anonymous client. */
      readonly userId: string | undefined
    }
  | {
      /** The socket is gone; the session, its groups and its messages are not. Nothing is lost if this ends in `connected`. */
      readonly state: 'recovering'
      /** When the socket was lost. */
      readonly since: number
      /** The attempt under way or due; 1 for the first since the connection last held for five seconds. */
      readonly attempt: number
      /** When the session is given up. */
      readonly deadline: number
      /** Why the socket was lost, or why the last attempt failed. */
      readonly cause: StateStoreError
    }
  | {
      /** There is no session: messages published from now on are missed until the groups are joined again. */
      readonly state: 'disconnected'
      /** Close code of the WebSocket (RFC 6455, section 7.4), if it was one that ended session or attempt. */
      readonly code: number | undefined
      /** What the hub gave as reason, or what went wrong. */
      readonly reason: string
      readonly retryAt: number
      /** The attempt that is due then; 1 for the first since the connection last held for five seconds. */
      readonly attempt: number
    }
  | {
      /** The client has ended; the last state. */
      readonly state: 'stopped'
      readonly code: number | undefined
      readonly reason: string
      /** Missing when closed on purpose. */
      readonly cause: StateStoreError | undefined
    }

/** Moves the times of a status by `offset` ms, from one clock to another. */
export function onWallClock(status: PubSubStatus, offset: number): PubSubStatus {
  if (status.state === 'recovering') {
    return { ...status, since: status.since + offset, deadline: status.deadline + offset }
  }
  return status.state === 'disconnected' ? { ...status, retryAt: status.retryAt + offset } : status
}
