import { BehaviorSubject, type Observable, type Subscription } from 'rxjs'

/** Keeps the latest value of a stream for views, for as long as `life` lasts. */
export function cell<T>(source$: Observable<T>, initial: T, life: Subscription): BehaviorSubject<T> {
  const kept$ = new BehaviorSubject(initial)
  life.add(source$.subscribe(kept$))
  return kept$
}
