import type { Reconnecting } from './dialler.js'
import type { Route } from './route.js'

/** A connection of our own. */
export interface Own {
  readonly route: Route
  readonly reconnecting: Reconnecting
  /** Of what is read, bytes. */
  readonly maximumPacketSize: number
  /** Whether who listens acknowledges messages. */
  readonly byHand?: boolean
}
