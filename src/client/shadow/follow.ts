import { concatMap, defer, Observable, type ObservableInput, take } from 'rxjs'
import type { Delta } from './delta.js'
import { isEmpty } from './fields.js'

/** Does deltas one at a time, the newest next, and reports. */
export function follow<T extends object, R>(
  delta$: Observable<Delta<T>>,
  apply: (delta: Delta<T>) => ObservableInput<Partial<T>>,
  report: (fields: Partial<T>) => Observable<R>,
): Observable<R> {
  return new Observable(subscriber => {
    let next: Delta<T> | undefined
    let isBusy = false
    const work = (): void => {
      const delta = next
      if (isBusy || delta === undefined || subscriber.closed) return
      isBusy = true
      next = undefined
      const done$ = defer(() => apply(delta)).pipe(take(1), concatMap(report))
      subscriber.add(
        done$.subscribe({
          next: result => subscriber.next(result),
          error: error => subscriber.error(error),
          complete: () => {
            isBusy = false
            work()
          },
        }),
      )
    }
    const source = delta$.subscribe({
      next: delta => {
        next = isEmpty(delta.delta) ? undefined : delta
        work()
      },
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(source)
  })
}
