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
  /** Whether messages say that they are retained from now on (MQTT 5.0, section 3.8.3.1, Retain As Published). Default `false`. */
  readonly asPublished?: boolean
}
