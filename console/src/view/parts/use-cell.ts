import { useLayoutEffect, useState } from 'preact/hooks'
import type { BehaviorSubject, Observable } from 'rxjs'

/** Returns the latest value of a cell, and renders the component again when the value changes. */
export const useCell = <T>(cell: BehaviorSubject<T>): T => useObservable(cell, cell.value)

/** Returns the latest value of an observable, which must be the same object in every rendering. */
export function useObservable<T>(source: Observable<T>, initial: T): T {
  const [latest, setLatest] = useState({ source, value: initial })
  useLayoutEffect(() => {
    const subscription = source.subscribe(value => setLatest({ source, value }))
    return () => subscription.unsubscribe()
  }, [source])
  return latest.source === source ? latest.value : initial
}
