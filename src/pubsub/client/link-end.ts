import { ConnectionLostError, type StateStoreError } from '../../core/util/errors.js'

/** Why a link ended, or was not made. */
export interface LinkEnd {
  /** Close code of the WebSocket, if it was closed by the other side or by the network. */
  readonly code: number | undefined
  readonly reason: string
  readonly cause: StateStoreError
}

/** Closed by the other side or by the network. `reason` may be empty. */
export const closedWith = (code: number, reason: string): LinkEnd => ({
  code,
  reason,
  cause: new ConnectionLostError(`The connection to the hub was closed (${code}${reason && `: ${reason}`})`),
})

/** What the hub said before it closed the link that led to this end says more than how the last attempt failed. */
export function afterFarewell(farewell: string, end: LinkEnd): LinkEnd {
  if (farewell === '') return end
  return end.code === undefined ? { ...end, reason: farewell } : closedWith(end.code, farewell)
}

/** Given up here. */
export const failure = (message: string, options?: ErrorOptions): LinkEnd => ({
  code: undefined,
  reason: message,
  cause: new ConnectionLostError(message, options),
})
