import { concatMap, connect, defer, endWith, ignoreElements, merge, type Observable, takeUntil } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
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
export type DesiredAndReported<T> = readonly [wish: OptimisticState<Partial<T>>, report: OptimisticState<Partial<T>>]

/** A report that the store has done, or that goes with a later one. */
export interface Reported<T> {
  /** What was desired when that was heard. */
  readonly desired: Partial<T> | undefined
  readonly reported: Partial<T>
  /** Of what was done. */
  readonly version: Hlc | undefined
}

/**
 * Deltas, whenever they are others, by what the store has. After a report the next one is another, even if it looks the same
 * as the one before that: somebody has taken back what was reported, unseen, or it was lost with a later one.
 */
export const deltas = <T extends object>(
  both$: Observable<DesiredAndReported<T>>,
  reported$: Observable<Reported<T>>,
): Observable<Delta<T>> =>
  defer(() => {
    const told = new Told<T>()
    return both$.pipe(
      connect(shared$ =>
        merge(
          shared$.pipe(concatMap(both => told.see(both))),
          reported$.pipe(
            concatMap(report => told.hear(report)),
            takeUntil(shared$.pipe(ignoreElements(), endWith(undefined))),
          ),
        ),
      ),
    )
  })

/** What a device was told, and what it has reported since. */
class Told<T extends object> {
  #desiredAndReported: DesiredAndReported<T> | undefined
  #delta: Partial<T> | undefined
  /** Version of what was reported when it was told. */
  #reportVersion: Hlc | undefined
  /** Since it was told it has reported something that changes what is to be done; the version that has all of that. */
  #done: { readonly version: Hlc | undefined } | undefined

  see(both: DesiredAndReported<T>): Delta<T>[] {
    this.#desiredAndReported = both
    const [wish, report] = both
    if (!isLive(wish) || !isLive(report)) return []
    const delta = difference(wish.confirmed, report.confirmed)
    const isOther = this.#delta === undefined || !isSame(this.#delta, delta)
    if (!isOther && !(this.#done && isBehind(report, this.#done.version))) return []
    this.#delta = delta
    this.#reportVersion = report.version
    this.#done = undefined
    return [{ delta, version: wish.version }]
  }

  hear({ desired, reported, version }: Reported<T>): Delta<T>[] {
    const wasKnown = version && this.#reportVersion && this.#reportVersion.compareTo(version) >= 0
    if (wasKnown || this.#delta === undefined) return []
    if (this.#done === undefined && isSame(this.#delta, difference(desired, reported))) return []
    this.#done = { version }
    return this.#desiredAndReported ? this.see(this.#desiredAndReported) : []
  }
}

const isLive = ({ freshness }: OptimisticState<unknown>): boolean => freshness.state === 'live'

/** Whether what is confirmed is what the store had with a report of that version, or later. */
const isBehind = ({ state, version }: OptimisticState<unknown>, of: Hlc | undefined): boolean =>
  (state !== 'pending' && state !== 'unknown') ||
  (of !== undefined && version !== undefined && version.compareTo(of) >= 0)
