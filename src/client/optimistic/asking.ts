import { defaultIfEmpty, defer, map, type Observable, take } from 'rxjs'
import type { LateWrite, Terms } from './options.js'

/** What the application says to a write that is late, once; no if it says nothing. */
export const asked = <T>({ ask }: Terms<T>, late: LateWrite<T>): Observable<boolean> =>
  defer(() => ask(late)).pipe(
    take(1),
    map(yes => yes === true),
    defaultIfEmpty(false),
  )
