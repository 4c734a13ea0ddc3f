import { ConnectionLostError, type StateStoreError } from '../../core/util/errors.js'

export interface LinkEnd {
  /** The close code of the WebSocket, if the peer or the network closed it. */
  readonly code: number | undefined
  readonly reason: string
  readonly cause: StateStoreError
}

/** Returns the end of a link that the peer or the network closed. `reason` may be empty. */
export const closedByPeer = (code: number, reason: string): LinkEnd => ({
  code,
  reason,
  cause: new ConnectionLostError(`The connection to the hub was closed (${code}${reason && `: ${reason}`})`),
})

/**
 * Returns the end of a link, with the reason of the hub's `disconnected` frame if there is one. That reason is better
 * than the failure of the last recovery attempt.
 */
export function withDisconnectReason(hubReason: string, end: LinkEnd): LinkEnd {
  if (hubReason === '') return end
  return end.code === undefined ? { ...end, reason: hubReason } : closedByPeer(end.code, hubReason)
}

export const failure = (message: string, options?: ErrorOptions): LinkEnd => ({
  code: undefined,
  reason: message,
  cause: new ConnectionLostError(message, options),
})
