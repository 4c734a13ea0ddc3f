import { concat, EMPTY, ignoreElements, map, merge, startWith, switchMap, tap } from 'rxjs'

/** @typedef {import('rx-statestore').StateStoreError} StateStoreError */
/**
 * What a control shows: `wanted` while somebody turns it and until the store has the last of it, else what is stored.
 * `waits` for the connection; `failure` is why the last turn was not written.
 *
 * @template T
 * @typedef {{ value: T | undefined, wanted: boolean, waits: boolean, failure?: StateStoreError | undefined }} Shown
 */

/**
 * Ties a control to what it writes. Each turn is a stream of values that ends when the hand lets go; until then the control
 * is the hand's, whatever others write. While a value is being written only the latest waits, so that a drag costs no more
 * than the network carries.
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
  // Looked at all the time, also by those who turn: what was seen last is what a write is compared with.
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
