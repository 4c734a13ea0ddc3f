import { set } from 'rx-statestore'
import { concat, connect, defer, EMPTY, ignoreElements, map, merge, skipWhile, startWith, switchMap, tap } from 'rxjs'

/** @typedef {import('rx-statestore').Hlc} Hlc */
/** @typedef {import('rx-statestore').StateStoreError} StateStoreError */
/**
 * What a control shows: `wanted` while somebody turns it and until the store has the last of it, else what is stored.
 * `failure` is why the last turn was not written.
 *
 * @template T
 * @typedef {{ value: T | undefined, wanted: boolean, failure?: StateStoreError | undefined }} Shown
 */

/**
 * Ties a control to a key. Each turn is a stream of values that ends when the hand lets go. While a value is being
 * written only the latest waits, so that a drag costs no more than the network carries.
 *
 * When the turn is over the key is shown again, from the version on that the last value got: no echo of an earlier value
 * pulls the knob back.
 *
 * @template T
 * @param {import('rx-statestore').Key<T>} key
 * @param {import('rxjs').Observable<import('rxjs').Observable<T>>} turns$
 * @returns {import('rxjs').Observable<Shown<T>>}
 */
export const control = (key, turns$) =>
  turns$.pipe(
    startWith(EMPTY),
    switchMap(turn$ => turned(key, turn$)),
  )

/**
 * @template T
 * @param {import('rx-statestore').Key<T>} key
 * @param {import('rxjs').Observable<T>} turn$
 * @returns {import('rxjs').Observable<Shown<T>>}
 */
const turned = (key, turn$) =>
  defer(() => {
    /** @type {{ version?: Hlc | undefined, error?: StateStoreError }} */
    let written = {}
    const wanted$ = turn$.pipe(
      connect(value$ =>
        merge(
          value$.pipe(map(value => ({ value, wanted: true }))),
          value$.pipe(
            set(key, { latest: true, onError: 'emit' }),
            tap(result => {
              written = result
            }),
            ignoreElements(),
          ),
        ),
      ),
    )
    const stored$ = key.entries$.pipe(
      skipWhile(({ version }) => isOlder(version, written.version)),
      map(({ value }) => ({ value, wanted: false, failure: written.error })),
    )
    return concat(wanted$, stored$)
  })

/** @param {Hlc | undefined} version @param {Hlc | undefined} other */
const isOlder = (version, other) => version !== undefined && other !== undefined && version.compareTo(other) < 0
