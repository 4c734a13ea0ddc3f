import { useLayoutEffect, useState } from 'preact/hooks'
import type { BehaviorSubject, Observable } from 'rxjs'

/** The latest value of a cell; the view is rendered anew with every other one. */
export const useCell = <T>(cell: BehaviorSubject<T>): T => useObservable(cell, cell.value)

/** The latest value of an observable, which should be the same one at every rendering. */
export function useObservable<T>(source: Observable<T>, initial: T): T {
  const [held, hold] = useState({ source, value: initial })
  useLayoutEffect(() => {
    const subscription = source.subscribe(value => hold({ source, value }))
    return () => subscription.unsubscribe()
  }, [source])
  return held.source === source ? held.value : initial
}
