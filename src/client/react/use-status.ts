import { useMemo, useSyncExternalStore } from 'react'
import { checkArgument } from '../../core/util/check.js'
import type { StateStore, Status } from '../connect/client.js'

/**
 * Returns the connection's state, and renders the component again when it changes. Without a client, and on a
 * server, the state is `connecting`.
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

type ExternalStore = readonly [subscribe: (onChange: () => void) => () => void, read: () => Status]

function externalStore(store: StateStore | undefined): ExternalStore {
  if (store === undefined) return [() => () => undefined, connecting]
  checkArgument(typeof store?.status$?.subscribe === 'function', 'a store', store)
  const subscribe = (onChange: () => void): (() => void) => {
    const subscription = store.status$.subscribe(onChange)
    return () => subscription.unsubscribe()
  }
  return [subscribe, () => readStatus(store)]
}

function readStatus(store: StateStore): Status {
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
