import type { Subject, Subscription } from 'rxjs'
import type { StateStore } from '../../src/client/connect/client.js'
import type { Key } from '../../src/client/index.js'
import type { Oracle } from './oracle.js'
import type { ClientPlan } from './schedule.js'
import type { CountedClock } from './virtual-time.js'
import type { WatchSession } from './watch-session.js'

export interface Watcher {
  readonly key: string
  readonly oracle: Oracle
  readonly subscription: Subscription
}

export interface Group {
  readonly keys$: Subject<readonly string[]>
  readonly members: Map<string, Watcher>
}

export interface Client {
  readonly store: StateStore
  readonly session: WatchSession
  readonly clock: CountedClock
  readonly plan: ClientPlan
  readonly index: number
  readonly keys: readonly Key<string>[]
  readonly watchers: Set<Watcher>
  group: Group | undefined
  closed: boolean
}

export interface Write {
  readonly value: string
  readonly key: string
  readonly client: Client
  /** In milliseconds. */
  readonly at: number
  outcome: string
  version: string | undefined
}
