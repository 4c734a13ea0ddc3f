import type { Connection, EndReason } from './connection.js'
import type { EventRequest } from './event-request.js'
import type { GroupAction } from './group-guard.js'

/** Whoever wants to know what happens at a hub. May call the engine back. */
export interface HubListener {
  connected(session: Connection): void
  disconnected(session: Connection, reason: EndReason): void
  /** Whether anybody takes the event, to settle it now or later. */
  event(request: EventRequest): boolean
  /** It is a member now and was not before. */
  joined?(session: Connection, group: string): void
  /** It is no member any more, maybe because it has ended. */
  left?(session: Connection, group: string): void
  /** Whether a client may do what it asks for; `undefined` when its permissions are to say. Never raises an error. */
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
}
