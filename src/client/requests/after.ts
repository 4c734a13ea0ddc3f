import { Observable } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'

/** Emits once after `delayMs` of a clock, and completes. */
export const after = (delayMs: number, clock: Pick<Clock, 'schedule'>): Observable<undefined> =>
  new Observable(subscriber =>
    clock.schedule(delayMs, () => {
      subscriber.next(undefined)
      subscriber.complete()
    }),
  )
