import type { OperatorFunction } from 'rxjs'
import type { WithItem } from '../../../core/util/with-item.js'
import type { Entry } from '../../watch/watch-state.js'
import type { Codec } from '../codec.js'
import type { DeleteResult, Key, SetResult } from '../key.js'
import {
  DELETE_NAMES,
  type DeleteOptions,
  GET_NAMES,
  type RequestOptions,
  SET_NAMES,
  type SetOptions,
} from '../options.js'
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

type Options<R, E extends ErrorMode, L extends boolean, W extends boolean> = R & OperatorOptions<E, L, W>

const SET = { name: 'set', names: SET_NAMES }
const GET = { name: 'get', names: GET_NAMES }
const DELETE_KEY = { name: 'deleteKey', names: DELETE_NAMES }
const DELETE_IF = { name: 'deleteIf', names: DELETE_NAMES }

/**
 * Writes every item to a fixed key or to the key that `keyOf` returns, and emits the results in source order. Up to
 * `concurrency` writes are in flight; writes to one key stay in order. Errors as {@link Key.set} does, unless `onError:
 * 'emit'` emits failures as results.
 *
 * @example
 * ```ts
 * sensor$
 *   .pipe(set(setPoint, { expiresIn: 60_000 }))
 *   .subscribe(result => console.log(result.version))
 * readings$
 *   .pipe(set(store, r => `sensor/${r.id}`, json<Reading>()))
 *   .subscribe()
 * ```
 */
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>, W extends boolean = false>(
  key: Key<T>,
  options?: Options<SetOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, SetResult> | Failed<E, T>>
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>, W extends boolean = false>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<SetOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, SetResult> | Failed<E, T>>
export function set<T, L extends boolean, E extends ErrorMode, W extends boolean>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<SetOptions, E, L, W>,
  toValue?: ValueOf<T>,
  options: Options<SetOptions, E, L, W> = {},
): OperatorFunction<T, WithItem<W, T, SetResult> | Failed<E, T>> {
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
 * Reads, for every item, a fixed key or the key that `keyOf` returns, and emits the entries in source order. An absent
 * key is an entry with `op: 'absent'`. Errors as {@link Key.get} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * ids$
 *   .pipe(get(store, id => `asset/${id}`, json<Asset>()))
 *   .subscribe(entry => show(entry.value))
 * ```
 */
export function get<
  V,
  T = unknown,
  L extends boolean = false,
  E extends ErrorMode = DefaultMode<L>,
  W extends boolean = false,
>(key: Key<V>, options?: Options<RequestOptions, E, L, W>): OperatorFunction<T, WithItem<W, T, Entry<V>> | Failed<E, T>>
export function get<T, V, L extends boolean = false, E extends ErrorMode = DefaultMode<L>, W extends boolean = false>(
  store: StoreView,
  keyOf: KeyOf<T>,
  codec: Codec<V>,
  options?: Options<RequestOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, Entry<V>> | Failed<E, T>>
export function get<T, V, L extends boolean, E extends ErrorMode, W extends boolean>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<RequestOptions, E, L, W>,
  codec?: Codec<V>,
  options: Options<RequestOptions, E, L, W> = {},
): OperatorFunction<T, WithItem<W, T, Entry<V>> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      GET,
      () => target,
      (key, _: T, options) => key.get(options),
      own,
    )
  }
  if (typeof second !== 'function' || typeof codec?.decode !== 'function') throw missingArguments('get', 'keyOf, codec')
  return operate(
    GET,
    (item: T) => target.key(second(item), codec),
    (key, _, own) => key.get(own),
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
export function deleteKey<
  V,
  T = unknown,
  L extends boolean = false,
  E extends ErrorMode = DefaultMode<L>,
  W extends boolean = false,
>(
  key: Key<V>,
  options?: Options<DeleteOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>>
export function deleteKey<
  T,
  L extends boolean = false,
  E extends ErrorMode = DefaultMode<L>,
  W extends boolean = false,
>(
  store: StoreView,
  keyOf: KeyOf<T>,
  options?: Options<DeleteOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>>
export function deleteKey<T, V, L extends boolean, E extends ErrorMode, W extends boolean>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L, W>,
  options: Options<DeleteOptions, E, L, W> = {},
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>> {
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
export function deleteIf<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>, W extends boolean = false>(
  key: Key<T>,
  options?: Options<DeleteOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>>
export function deleteIf<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>, W extends boolean = false>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<DeleteOptions, E, L, W>,
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>>
export function deleteIf<T, L extends boolean, E extends ErrorMode, W extends boolean>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L, W>,
  toValue?: ValueOf<T>,
  options: Options<DeleteOptions, E, L, W> = {},
): OperatorFunction<T, WithItem<W, T, DeleteResult> | Failed<E, T>> {
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
