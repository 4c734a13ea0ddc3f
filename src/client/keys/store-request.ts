import type { Observable } from 'rxjs'
import { Awaitable } from '../../core/util/awaitable.js'

/**
 * One request to the store, and its one result. It is a cold observable: nothing is sent before somebody subscribes, every
 * subscription sends a request of its own, and unsubscribing gives up. It can be awaited as well, which subscribes once,
 * however often the same one is awaited; what is neither subscribed nor awaited does nothing. What `pipe` makes of it is a
 * plain observable.
 *
 * Wrong arguments are errors of the request, like all others, so that `catchError` and `catch` see them. `for await` needs
 * something that goes on, such as a {@link Key}, and refuses a request.
 *
 * @example
 * ```ts
 * const { version } = await setPoint.set(21.5)
 * slider$.pipe(switchMap(value => setPoint.set(value))).subscribe()
 * ```
 */
export class StoreRequest<T> extends Awaitable<T> {
  /** @param make - called on every subscription; what it throws is the error of that */
  constructor(make: () => Observable<T>) {
    super(subscriber => make().subscribe(subscriber))
  }
}
