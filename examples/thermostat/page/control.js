import { concat, EMPTY, ignoreElements, map, merge, of, startWith, switchMap, tap, timer } from 'rxjs'
import { STATES } from '../../../design/states.js'

/** @typedef {import('rx-statestore').StateStoreError} StateStoreError */
/**
 * The state of a control. `turning`: the user turns the control. `pending`: the value is being stored, and `waits` is
 * true while it waits for the connection. `refused`: the last value was not written because of `failure`, and `value`
 * is the stored value.
 *
 * @template T
 * @typedef {{
 *   value: T | undefined,
 *   state: 'live' | 'turning' | 'pending' | 'refused',
 *   waits?: boolean,
 *   failure?: StateStoreError | undefined,
 * }} Shown
 */

/** The time after which a write is shown as pending, ms. Most writes are faster, and would only flicker. */
const PENDING_AFTER = 200

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
  const shown$ = view.state$.pipe(map(shownOf))
  const turned$ = turns$.pipe(
    startWith(EMPTY),
    switchMap(turn$ => concat(writeTurn(view, turn$), shown$)),
  )
  // The state stays subscribed during a turn, because writes are compared with the last observed value.
  return merge(turned$, shown$.pipe(ignoreElements()))
}

/**
 * @template T
 * @param {import('rx-statestore/optimistic').OptimisticState<T>} of
 * @returns {Shown<T>}
 */
function shownOf({ value, state, late, error }) {
  if (state === 'pending' || state === 'unknown') return { value, state: 'pending', waits: late !== undefined }
  return state === 'refused' ? { value, state, failure: error } : { value, state: 'live' }
}

/**
 * Writes the values of a turn while it lasts, and emits the state of the control.
 *
 * @template T
 * @param {import('rx-statestore/optimistic').Optimistic<T>} view
 * @param {import('rxjs').Observable<T>} turn$
 * @returns {import('rxjs').Observable<Shown<T>>}
 */
const writeTurn = (view, turn$) =>
  turn$.pipe(
    tap(value => view.next(value)),
    map(value => ({ value, state: 'turning' })),
  )

/**
 * Emits the states of a control, without pending writes that are fast.
 *
 * @template T
 * @param {Shown<T>} shown
 */
const slowly = shown => (shown.state === 'pending' ? timer(PENDING_AFTER).pipe(map(() => shown)) : of(shown))

/**
 * Shows the states of a control in a notice.
 *
 * @template T
 * @param {import('./notice.js').Notice} notice
 * @returns {import('rxjs').MonoTypeOperatorFunction<Shown<T>>}
 */
export const noting = notice => shown$ =>
  shown$.pipe(
    switchMap(slowly),
    tap(shown => notice.show(noticeOf(shown))),
  )

/** @param {Shown<unknown>} shown @returns {import('./notice.js').Said | undefined} */
function noticeOf({ state, waits, failure }) {
  if (state === 'pending') return { state, words: waits ? 'Waiting for the connection' : STATES.pending.word }
  if (state !== 'refused') return undefined
  return { state, words: `Not set. ${reasonOf(failure?.code)}`, details: failure?.message }
}

/** @param {StateStoreError['code'] | undefined} code */
function reasonOf(code) {
  switch (code) {
    case 'fencing-token-required':
    case 'fencing-token-stale':
      return 'Another controller holds the lock.'
    case 'not-authorized':
      return 'You may not change this.'
    case 'offline':
      return 'There was no connection.'
    case 'timeout':
      return 'There was no response. Try again.'
    default:
      return 'The value was rejected.'
  }
}
