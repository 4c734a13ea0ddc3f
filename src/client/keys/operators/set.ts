import type { OperatorFunction } from 'rxjs'
import type { Key, SetResult } from '../key.js'
import { SET_NAMES, type SetOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
import { operate } from './operate.js'
import {
  type DefaultMode,
  type ErrorMode,
  encodeWith,
  type Failed,
  isKey,
  isValueOf,
  type KeyOf,
  keysOf,
  missingArguments,
  type OperatorOptions,
  type ValueOf,
} from './target.js'

const OPERATOR = { name: 'set', names: SET_NAMES }

type Options<E extends ErrorMode, L extends boolean> = SetOptions & OperatorOptions<E, L>

/**
 * Writes every item to a key, or to the key that `keyOf` gives it, and emits the results in the order of the source.
 * Up to `concurrency` writes are under way; writes to one key stay in order. Errors as {@link Key.set} does, unless
 * `onError: 'emit'` makes results of failures.
 *
 * @example
 * ```ts
 * sensor$.pipe(set(setPoint, { expiresIn: 60_000 })).subscribe(result => console.log(result.version))
 * readings$.pipe(set(store, r => `sensor/${r.id}`, json<Reading>())).subscribe()
 * ```
 */
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<T>,
  options?: Options<E, L>,
): OperatorFunction<T, SetResult | Failed<E, T>>
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<E, L>,
): OperatorFunction<T, SetResult | Failed<E, T>>
export function set<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<E, L>,
  toValue?: ValueOf<T>,
  options: Options<E, L> = {},
): OperatorFunction<T, SetResult | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      OPERATOR,
      () => target,
      (key, item: T, options) => key.set(item, options),
      own,
    )
  }
  if (typeof second !== 'function' || !isValueOf(toValue)) throw missingArguments('set', 'keyOf, codec or toValue')
  return operate(
    OPERATOR,
    keysOf(target, second),
    (key, item: T, own) => key.set(encodeWith(toValue, item, key.name), own),
    options,
  )
}
