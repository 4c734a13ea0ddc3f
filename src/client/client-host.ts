import type { Observable } from 'rxjs'
import type { Clock } from '../base/clock.js'
import type { KeyHost } from '../keys/source.js'

/** What those who live as long as a client, its leases, need of it. */
export interface ClientHost extends KeyHost {
  readonly clock: Clock
  readonly clientId: string
  /** Called when the client is closed on purpose; it stays until what they return has completed. They never error. */
  readonly farewells: Set<() => Observable<unknown>>
  /** Whether the client is being closed: a lease that began now would miss the farewells, and be left behind. */
  readonly isLeaving: () => boolean
}
