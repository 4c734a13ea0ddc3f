import { ConnectionLostError, type StateStoreError } from '../../errors.js'

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

/** Given up here. */
export const failure = (message: string, options?: ErrorOptions): LinkEnd => ({
  code: undefined,
  reason: message,
  cause: new ConnectionLostError(message, options),
})
