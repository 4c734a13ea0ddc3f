import {
  connect,
  distinctUntilChanged,
  endWith,
  filter,
  ignoreElements,
  map,
  merge,
  type Observable,
  takeUntil,
} from 'rxjs'
import type { Hlc } from '../hlc/hlc.js'
import type { OptimisticState } from '../optimistic/index.js'
import { difference, isSame } from './fields.js'

/** What a device has to do. */
export interface Delta<T> {
  /** Fields, with what they are to be; empty when there is nothing to do. */
  readonly delta: Partial<T>
  /** Version of the wish. */
  readonly version: Hlc | undefined
}

/** Where wishes and reports stand. */
export type Both<T> = readonly [wish: OptimisticState<Partial<T>>, report: OptimisticState<Partial<T>>]

/**
 * Deltas, whenever they are others, by what the store has; none by what it had before a report that is on its way. After a
 * report that changed the delta the next one is another, even if it looks the same: somebody took back what was reported.
 *
 * @param reported$ - what the store has by the device's reports, as they are answered, with what was desired then
 */
export function deltas<T extends object>(
  both$: Observable<Both<T>>,
  reported$: Observable<readonly [desired: Partial<T> | undefined, reported: Partial<T>]>,
): Observable<Delta<T>> {
  const answered$ = reported$.pipe(
    map(([desired, reported]) => ({ delta: difference(desired, reported), version: undefined, isRead: false })),
  )
  return both$.pipe(
    connect(shared$ => merge(readFrom(shared$), answered$.pipe(takeUntil(endOf(shared$))))),
    distinctUntilChanged((before, after) => before.isRead && isSame(before.delta, after.delta)),
    filter(({ isRead }) => isRead),
    map(({ delta, version }) => ({ delta, version })),
  )
}

interface Known<T> extends Delta<T> {
  /** Whether it is by what was read, and not only by an answer. */
  readonly isRead: boolean
}

const readFrom = <T extends object>(both$: Observable<Both<T>>): Observable<Known<T>> =>
  both$.pipe(
    filter(([wish, report]) => isLive(wish) && isLive(report) && report.state !== 'pending'),
    map(([{ confirmed, version }, report]) => {
      return { delta: difference(confirmed, report.confirmed), version, isRead: true }
    }),
  )

const endOf = (both$: Observable<unknown>): Observable<unknown> => both$.pipe(ignoreElements(), endWith(undefined))

const isLive = ({ freshness }: OptimisticState<unknown>): boolean => freshness.state === 'live'
