import { concatMap, connect, defer, endWith, ignoreElements, merge, type Observable, takeUntil } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { OptimisticState } from '../optimistic/index.js'
import { difference, isSame } from './fields.js'

/** The changes that a device must make. */
export interface Delta<T> {
  /** Fields with their desired values; empty if nothing must be changed. */
  readonly delta: Partial<T>
  /** Version of the desired state. */
  readonly version: Hlc | undefined
}

export type DesiredAndReported<T> = readonly [wish: OptimisticState<Partial<T>>, report: OptimisticState<Partial<T>>]

/** A report that the store applied, directly or as part of a later report. */
export interface Reported<T> {
  /** The desired state when the report was applied. */
  readonly desired: Partial<T> | undefined
  readonly reported: Partial<T>
  readonly version: Hlc | undefined
}

/**
 * Emits deltas of confirmed states whenever they change. After a report the next delta counts as changed even if it
 * looks the same: in that case another client reverted the report before its effect was seen, or the report was lost
 * together with a later one.
 */
export const deltas = <T extends object>(
  states$: Observable<DesiredAndReported<T>>,
  reported$: Observable<Reported<T>>,
): Observable<Delta<T>> =>
  defer(() => {
    const tracker = new DeltaTracker<T>()
    return states$.pipe(
      connect(shared$ =>
        merge(
          shared$.pipe(concatMap(states => tracker.onStates(states))),
          reported$.pipe(
            concatMap(report => tracker.onReport(report)),
            takeUntil(shared$.pipe(ignoreElements(), endWith(undefined))),
          ),
        ),
      ),
    )
  })

class DeltaTracker<T extends object> {
  #desiredAndReported: DesiredAndReported<T> | undefined
  #delta: Partial<T> | undefined
  /** Version of the reported state when the delta was emitted. */
  #reportVersion: Hlc | undefined
  /** Set after a report that changes the delta: the version of a state that includes the report. */
  #newerReport: { readonly version: Hlc | undefined } | undefined

  onStates(states: DesiredAndReported<T>): Delta<T>[] {
    this.#desiredAndReported = states
    const [wish, report] = states
    if (!isLive(wish) || !isLive(report)) return []
    const delta = difference(wish.confirmed, report.confirmed)
    const hasChanged = this.#delta === undefined || !isSame(this.#delta, delta)
    if (!hasChanged && !(this.#newerReport && includesReport(report, this.#newerReport.version))) return []
    this.#delta = delta
    this.#reportVersion = report.version
    this.#newerReport = undefined
    return [{ delta, version: wish.version }]
  }

  onReport({ desired, reported, version }: Reported<T>): Delta<T>[] {
    const isOutdated = version && this.#reportVersion && this.#reportVersion.compareTo(version) >= 0
    if (isOutdated || this.#delta === undefined) return []
    if (this.#newerReport === undefined && isSame(this.#delta, difference(desired, reported))) return []
    this.#newerReport = { version }
    return this.#desiredAndReported ? this.onStates(this.#desiredAndReported) : []
  }
}

/** Returns whether both states are live and differ in other fields, so that another delta follows. */
export function isOutdated<T extends object>({ delta }: Delta<T>, [wish, report]: DesiredAndReported<T>): boolean {
  return isLive(wish) && isLive(report) && !isSame(delta, difference(wish.confirmed, report.confirmed))
}

const isLive = ({ freshness }: OptimisticState<unknown>): boolean => freshness.state === 'live'

/** Returns whether the confirmed state includes the report of that version or a later one. */
const includesReport = ({ state, version }: OptimisticState<unknown>, reportVersion: Hlc | undefined): boolean =>
  (state !== 'pending' && state !== 'unknown') ||
  (reportVersion !== undefined && version !== undefined && version.compareTo(reportVersion) >= 0)
