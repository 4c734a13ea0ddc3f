import type { EventRequest } from './event-desk.js'
import type { Connection, EndReason } from './identity.js'
import type { MemoryBudget } from './memory-budget.js'
import type { GroupAction } from './permissions.js'

/** Is told what happens at a hub. May call the engine back. */
export interface HubListener {
  connected(session: Connection): void
  disconnected(session: Connection, reason: EndReason): void
  /** Whether the application takes the event, to decide on it now or later. */
  event(request: EventRequest): boolean
  /** It has become a member. */
  joined?(session: Connection, group: string): void
  /** It is not a member any more, perhaps because it has ended. */
  left?(session: Connection, group: string): void
  /** Whether a client may do what it asks for; `undefined` leaves that to its permissions. Never raises an error. */
  allows?(session: Connection, action: GroupAction, group: string): boolean | undefined
}

export interface HubEngineOptions {
  /** How long a session without a link is kept, ms. */
  readonly retention: number
  /** A link silent for that long is closed, ms; it is asked for a sign of life after half of it. */
  readonly idleTimeout: number
  /** Makes ids and tokens that cannot be guessed, base64url. */
  readonly secret: (bytes: number) => string
  readonly listener: HubListener
  /** For what waits for clients. Default one without a limit. */
  readonly budget?: MemoryBudget | undefined
}
