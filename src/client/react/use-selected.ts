import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { checkFunction } from '../../core/util/check.js'

/** Returns whether a component treats two selected values as equal. */
export type Equality<R> = (before: R, after: R) => boolean

interface ExternalStore<S> {
  readonly subscribe: (onChange: () => void) => () => void
  readonly read: () => S
  readonly readOnServer: () => S
}

export const selectAll = <S>(state: S): S => state

/** Renders the component again only when the selected value changes. `select` may be created while rendering. */
export function useSelected<S, R>(
  { subscribe, read, readOnServer }: ExternalStore<S>,
  select: (state: S) => R,
  equal: Equality<R> = Object.is,
): R {
  checkFunction('select', select)
  checkFunction('equal', equal)
  const committed = useRef<{ readonly selected: R } | undefined>(undefined)
  const selectOf = useMemo(() => {
    let last: { readonly state: S; readonly selected: R } | undefined
    return (state: S): R => {
      if (last !== undefined && last.state === state) return last.selected
      const before = last ?? committed.current
      const after = select(state)
      const selected = before !== undefined && equal(before.selected, after) ? before.selected : after
      last = { state, selected }
      return selected
    }
  }, [select, equal])
  const selected = useSyncExternalStore(
    subscribe,
    () => selectOf(read()),
    () => selectOf(readOnServer()),
  )
  useEffect(() => {
    committed.current = { selected }
  }, [selected])
  return selected
}
