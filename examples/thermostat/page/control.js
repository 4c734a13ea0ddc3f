import { concat, EMPTY, ignoreElements, map, merge, startWith, switchMap, tap } from 'rxjs'

/** @typedef {import('rx-statestore').StateStoreError} StateStoreError */
/**
 * The state of a control: `wanted` while the user turns it and until the last value is stored, else the stored value.
 * `waits` for the connection; `failure` is the reason why the last value was not written.
 *
 * @template T
 * @typedef {{ value: T | undefined, wanted: boolean, waits: boolean, failure?: StateStoreError | undefined }} Shown
 */

/**
 * Connects a control to its key. Each turn is a stream of values that ends when the user lets go; until then, writes of
 * other clients do not move the control. During a write only the latest value waits, so a drag adapts to the network.
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
    switchMap(turn$ => concat(handOf(view, turn$), shown$)),
  )
  // Stays subscribed during a turn, as writes are compared with the last observed value.
  return merge(turned$, shown$.pipe(ignoreElements()))
}

/**
 * What a hand turns, which is written as it turns.
 *
 * @template T
 * @param {import('rx-statestore/optimistic').Optimistic<T>} view
 * @param {import('rxjs').Observable<T>} turn$
 */
const handOf = (view, turn$) =>
  turn$.pipe(
    tap(value => view.next(value)),
    map(value => ({ value, wanted: true, waits: false })),
  )

/** A sentence about it, if there is something to say. @param {Shown<unknown>} shown */
export function noticeOf({ waits, failure }) {
  if (waits) return 'Waits for the connection'
  if (failure === undefined) return ''
  return failure.code === 'offline' ? 'Not set: the connection was away for too long' : `Not set: ${failure.message}`
}
