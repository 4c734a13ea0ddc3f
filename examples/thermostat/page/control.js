import { concat, EMPTY, ignoreElements, map, merge, startWith, switchMap, tap } from 'rxjs'

/** @typedef {import('rx-statestore').StateStoreError} StateStoreError */
/**
 * The state of a control. `wanted` is true while the user turns the control and until the last value is stored;
 * otherwise `value` is the stored value. `waits` is true while the value waits for the connection. `failure` is the
 * reason why the last value was not written.
 *
 * @template T
 * @typedef {{ value: T | undefined, wanted: boolean, waits: boolean, failure?: StateStoreError | undefined }} Shown
 */

/**
 * Connects a control to its key. Each turn is a stream of values that ends when the user lets go; until then, writes of
 * other clients do not move the control. During a write only the latest value waits, so the writes of a drag adapt to
 * the network.
 *
 * @template T
 * @param {import('rx-statestore/optimistic').Optimistic<T>} view
 * @param {import('rxjs').Observable<import('rxjs').Observable<T>>} turns$
 * @returns {import('rxjs').Observable<Shown<T>>}
 */
export function control(view, turns$) {
  const shown$ = view.state$.pipe(
    map(({ value, state, late, error }) => {
      const wanted = state === 'pending' || state === 'unknown'
      return { value, wanted, waits: wanted && late !== undefined, failure: state === 'refused' ? error : undefined }
    }),
  )
  const turned$ = turns$.pipe(
    startWith(EMPTY),
    switchMap(turn$ => concat(writeTurn(view, turn$), shown$)),
  )
  // The state stays subscribed during a turn, because writes are compared with the last observed value.
  return merge(turned$, shown$.pipe(ignoreElements()))
}

/**
 * Writes the values of a turn while it lasts, and emits the state of the control.
 *
 * @template T
 * @param {import('rx-statestore/optimistic').Optimistic<T>} view
 * @param {import('rxjs').Observable<T>} turn$
 */
const writeTurn = (view, turn$) =>
  turn$.pipe(
    tap(value => view.next(value)),
    map(value => ({ value, wanted: true, waits: false })),
  )

/** Returns a notice about a control, or empty text if there is none. @param {Shown<unknown>} shown */
export function noticeOf({ waits, failure }) {
  if (waits) return 'Waits for the connection'
  if (failure === undefined) return ''
  return failure.code === 'offline' ? 'Not set: the connection was away for too long' : `Not set: ${failure.message}`
}
