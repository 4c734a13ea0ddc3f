import type { Subscription } from 'rxjs'
import type { StateStore } from '../../src/client/connect/client.js'
import type { Entry } from '../../src/client/index.js'
import type { GlobOracle } from './glob-oracle.js'
import type { GlobSession } from './glob-session.js'
import type { CountedClock } from './virtual-time.js'

export interface Watcher {
  readonly glob: string
  readonly oracle: GlobOracle
  readonly subscription: Subscription
  map: ReadonlyMap<string, string> | undefined
}

/** A subscriber of a single key in addition to the globs. The oracle for keys checks its entries. */
export interface KeyWatcher {
  readonly subscription: Subscription
  shown: Entry<string> | undefined
}

export interface Client {
  readonly store: StateStore
  readonly session: GlobSession
  readonly clock: CountedClock
  readonly watchers: Set<Watcher>
  readonly keys: Map<string, KeyWatcher>
}
