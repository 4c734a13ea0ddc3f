/** A client's session at a hub, as the application sees it: it outlives network connections. */
export interface Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  /** Name of the subprotocol it speaks. */
  readonly subprotocol: string
  /** Names of the groups it is in now. */
  readonly groups: readonly string[]
  /** Whether a network connection is there now; without one, messages wait for the client to come back. */
  readonly attached: boolean
}

/**
 * Why a session ended. `client`: the client closed it; `hub`: the application did; `expired`: the client did not come
 * back in time; `overflow`: it left too much unacknowledged; `violation`: it sent what is not allowed; `shutdown`: the
 * server closes.
 */
export type EndReason = 'client' | 'hub' | 'expired' | 'overflow' | 'violation' | 'shutdown'
