import { HttpProblem } from '../../node/net/http-problem.js'
import type { AttachedStore } from '../attach/attached-store.js'
import type { StoreServer } from '../host/store-server.js'

/** The members of any store that the console uses. */
type AnyStoreMembers =
  | 'url'
  | 'startedAt'
  | 'stats'
  | 'keyspace'
  | 'drift'
  | 'cluster'
  | 'storage'
  | 'clients'
  | 'requests$'
  | 'peek'
  | 'watchedBy'
  | 'load'
  | 'dump'

type BrokerMembers = 'wsUrl' | 'limits' | 'frozenUntil' | 'usage' | 'addresses' | 'cut' | 'freeze' | 'restart'

export type StoreWithBroker = Pick<StoreServer, AnyStoreMembers | BrokerMembers>

export type StoreAtBroker = Pick<AttachedStore, AnyStoreMembers | 'state'>

export type ConsoleStore = StoreWithBroker | StoreAtBroker

/** Returns whether a store is attached to an external broker. */
export const isAttached = (store: ConsoleStore): store is StoreAtBroker => 'state' in store

/** Returns the store for operations on its broker. Throws {@link HttpProblem} for an attached store. */
export function requireBroker(store: ConsoleStore): StoreWithBroker {
  if (!isAttached(store)) return store
  throw new HttpProblem(409, 'attached', 'Not available: the store is attached to an external broker')
}
