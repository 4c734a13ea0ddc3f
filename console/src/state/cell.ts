import { BehaviorSubject, type Observable, type Subscription } from 'rxjs'

/** Keeps the latest value of a stream for views until `lifetime` ends. */
export function cell<T>(source$: Observable<T>, initial: T, lifetime: Subscription): BehaviorSubject<T> {
  const latest$ = new BehaviorSubject(initial)
  lifetime.add(source$.subscribe(latest$))
  return latest$
}
