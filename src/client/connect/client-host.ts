import type { Clock } from '../../core/util/clock.js'
import type { KeyHost } from '../keys/source.js'

/** What those who live as long as a client, its leases, need of it. */
export interface ClientHost extends KeyHost {
  readonly clock: Clock
  readonly clientId: string
  /** Whether the client is being closed: a lease that began now would miss the farewells, and be left behind. */
  readonly isLeaving: () => boolean
}
