import { useMemo, useSyncExternalStore } from 'react'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { StateStore, Status } from '../connect/client.js'

/**
 * The state of the connection, kept up to date for as long as the component is mounted. Without a store, and on a server,
 * it is `connecting`.
 *
 * @example
 * ```tsx
 * const { state } = useStatus(store)
 * ```
 */
export function useStatus(store: StateStore | undefined): Status {
  const [subscribe, read] = useMemo(() => externalStore(store), [store])
  return useSyncExternalStore(subscribe, read, connecting)
}

type ExternalStore = readonly [subscribe: (changed: () => void) => () => void, read: () => Status]

function externalStore(store: StateStore | undefined): ExternalStore {
  if (store === undefined) return [() => () => undefined, connecting]
  if (typeof store?.status$?.subscribe !== 'function')
    throw new ArgumentError(`Expected a store, got \`${formatValue(store)}\``)
  const subscribe = (changed: () => void): (() => void) => {
    const subscription = store.status$.subscribe(changed)
    return () => subscription.unsubscribe()
  }
  return [subscribe, () => latest(store)]
}

/** It says the latest at once, to late subscribers as well. */
function latest(store: StateStore): Status {
  let status = CONNECTING
  store.status$
    .subscribe(now => {
      status = now
    })
    .unsubscribe()
  return status
}

const CONNECTING: Status = { state: 'connecting' }
const connecting = (): Status => CONNECTING
