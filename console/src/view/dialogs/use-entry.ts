import { useMemo } from 'preact/hooks'
import type { Entry } from 'rx-statestore'
import { EMPTY, type Observable } from 'rxjs'
import type { ListedKey } from '../../model/listed-key.js'
import { useActions } from '../parts/use-actions.js'
import { useObservable } from '../parts/use-cell.js'

/** Returns the latest entry of a key, which is watched while the view is mounted. */
export function useEntry(key: ListedKey | undefined): Entry<Uint8Array> | undefined {
  const actions = useActions()
  const entries$ = useMemo(
    (): Observable<Entry<Uint8Array> | undefined> => (key ? actions.watch(key) : EMPTY),
    [actions, key],
  )
  return useObservable(entries$, undefined)
}
