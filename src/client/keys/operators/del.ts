import type { OperatorFunction } from 'rxjs'
import type { DeleteResult, Key } from '../key.js'
import { DELETE_NAMES, type DeleteOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
import { operate } from './operate.js'
import {
  type DefaultMode,
  type ErrorMode,
  type Failed,
  isKey,
  type KeyOf,
  keysOf,
  missingArguments,
  type OperatorOptions,
} from './target.js'

const OPERATOR = { name: 'del', names: DELETE_NAMES }

type Options<E extends ErrorMode, L extends boolean> = DeleteOptions & OperatorOptions<E, L>

/**
 * Deletes a key for every item, or the key that `keyOf` gives it, and emits the results in the order of the source.
 * Errors as {@link Key.delete} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * retired$.pipe(del(store, id => `asset/${id}`)).subscribe(result => console.log(result.deleted))
 * ```
 */
export function del<V, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<V>,
  options?: Options<E, L>,
): OperatorFunction<unknown, DeleteResult | Failed<E, unknown>>
export function del<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  options?: Options<E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function del<T, V, L extends boolean, E extends ErrorMode>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<E, L>,
  options: Options<E, L> = {},
): OperatorFunction<T, DeleteResult | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      OPERATOR,
      () => target,
      (key, _, options) => key.delete(options),
      own,
    )
  }
  if (typeof second !== 'function') throw missingArguments('del', 'keyOf')
  return operate(OPERATOR, keysOf(target, second), (key, _, own) => key.delete(own), options)
}
