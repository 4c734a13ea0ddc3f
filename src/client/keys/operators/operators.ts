import type { OperatorFunction } from 'rxjs'
import type { ItemResult } from '../../../core/util/item-result.js'
import type { DeleteResult, Key, SetResult } from '../key.js'
import { DELETE_NAMES, type DeleteOptions, SET_NAMES, type SetOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
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
  operate,
  type ValueOf,
} from './operate.js'

type Options<R, E extends ErrorMode, L extends boolean> = R & OperatorOptions<E, L>

const SET = { name: 'set', names: SET_NAMES }
const DELETE_KEY = { name: 'deleteKey', names: DELETE_NAMES }
const DELETE_IF = { name: 'deleteIf', names: DELETE_NAMES }

/**
 * Writes every item to a fixed key or to the key that `keyOf` returns, and emits the results with their items in source order. Up to
 * `concurrency` writes are in flight; writes to one key stay in order. Errors as {@link Key.set} does, unless `onError:
 * 'emit'` emits failures as results.
 *
 * @example
 * ```ts
 * sensor$
 *   .pipe(set(setPoint, { expiresIn: 60_000 }))
 *   .subscribe(({ item, version }) => console.log(item, version))
 * readings$
 *   .pipe(set(store, r => `sensor/${r.id}`, json<Reading>()))
 *   .subscribe()
 * ```
 */
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<T>,
  options?: Options<SetOptions, E, L>,
): OperatorFunction<T, ItemResult<T, SetResult> | Failed<E, T>>
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<SetOptions, E, L>,
): OperatorFunction<T, ItemResult<T, SetResult> | Failed<E, T>>
export function set<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<SetOptions, E, L>,
  toValue?: ValueOf<T>,
  options: Options<SetOptions, E, L> = {},
): OperatorFunction<T, ItemResult<T, SetResult> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      SET,
      () => target,
      (key, item: T, options) => key.set(item, options),
      own,
    )
  }
  if (typeof second !== 'function' || !isValueOf(toValue)) throw missingArguments('set', 'keyOf, codec or toValue')
  return operate(
    SET,
    keysOf(target, second),
    (key, item: T, own) => key.set(encodeWith(toValue, item, key.name), own),
    options,
  )
}

/**
 * Deletes, for every item, a fixed key or the key that `keyOf` returns, and emits the results in source order. Errors
 * as {@link Key.delete} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * retired$
 *   .pipe(deleteKey(store, id => `asset/${id}`))
 *   .subscribe(result => console.log(result.deleted))
 * ```
 */
export function deleteKey<V, T = unknown, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<V>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>>
export function deleteKey<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>>
export function deleteKey<T, V, L extends boolean, E extends ErrorMode>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L>,
  options: Options<DeleteOptions, E, L> = {},
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      DELETE_KEY,
      () => target,
      (key, _: T, options) => key.delete(options),
      own,
    )
  }
  if (typeof second !== 'function') throw missingArguments('deleteKey', 'keyOf')
  return operate(DELETE_KEY, keysOf(target, second), (key, _, own) => key.delete(own), options)
}

/**
 * Deletes a key for every item, but only if the value of the key equals the item. With a store,
 * `keyOf` returns the key of an item, and `toValue` encodes the value to compare with. Emits the results in source
 * order. Errors as {@link Key.deleteIf} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * finished$
 *   .pipe(
 *     deleteIf(
 *       store,
 *       job => `job/${job.id}`,
 *       () => 'running',
 *     ),
 *   )
 *   .subscribe()
 * ```
 */
export function deleteIf<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>>
export function deleteIf<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>>
export function deleteIf<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L>,
  toValue?: ValueOf<T>,
  options: Options<DeleteOptions, E, L> = {},
): OperatorFunction<T, ItemResult<T, DeleteResult> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      DELETE_IF,
      () => target,
      (key, item: T, options) => key.deleteIf(item, options),
      own,
    )
  }
  if (typeof second !== 'function' || !isValueOf(toValue)) throw missingArguments('deleteIf', 'keyOf, codec or toValue')
  return operate(
    DELETE_IF,
    keysOf(target, second),
    (key, item: T, own) => key.deleteIf(encodeWith(toValue, item, key.name), own),
    options,
  )
}
