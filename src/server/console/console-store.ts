import type { AttachedStore } from '../attach/attached-store.js'
import type { StoreServer } from '../host/store-server.js'
import { HttpProblem } from './http.js'

/** What a console needs of any store. */
type OfAny =
  | 'url'
  | 'startedAt'
  | 'stats'
  | 'keyspace'
  | 'drift'
  | 'cluster'
  | 'clients'
  | 'peek'
  | 'watchedBy'
  | 'load'
  | 'dump'

/** Of one with a broker of its own. */
type OfBroker = 'wsUrl' | 'frozenUntil' | 'usage' | 'addresses' | 'cut' | 'freeze' | 'restart'

/** What a console needs of a store with a broker of its own. */
export type StoreWithBroker = Pick<StoreServer, OfAny | OfBroker>

/** What it needs of one at a broker of somebody else. */
export type StoreAtBroker = Pick<AttachedStore, OfAny | 'state'>

/** What it needs of a store. */
export type ConsoleStore = StoreWithBroker | StoreAtBroker

/** Whether a store is at a broker of somebody else. */
export const isAttached = (store: ConsoleStore): store is StoreAtBroker => 'state' in store

/** The store, for what its broker has to do; raises {@link HttpProblem} when that is the broker of somebody else. */
export function withBroker(store: ConsoleStore): StoreWithBroker {
  if (!isAttached(store)) return store
  throw new HttpProblem(409, 'attached', 'The store is at a broker of somebody else, which takes no orders from it')
}
