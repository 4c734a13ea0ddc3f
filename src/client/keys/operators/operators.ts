import type { OperatorFunction } from 'rxjs'
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

/** Options of an operator: those of its requests, and its own. */
type Options<R, E extends ErrorMode, L extends boolean> = R & OperatorOptions<E, L>

const SET = { name: 'set', names: SET_NAMES }
const GET = { name: 'get', names: GET_NAMES }
const DEL = { name: 'del', names: DELETE_NAMES }
const VDEL = { name: 'vdel', names: DELETE_NAMES }

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
  options?: Options<SetOptions, E, L>,
): OperatorFunction<T, SetResult | Failed<E, T>>
export function set<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<SetOptions, E, L>,
): OperatorFunction<T, SetResult | Failed<E, T>>
export function set<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<SetOptions, E, L>,
  toValue?: ValueOf<T>,
  options: Options<SetOptions, E, L> = {},
): OperatorFunction<T, SetResult | Failed<E, T>> {
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
 * Reads a key for every item, or the key that `keyOf` gives it, and emits the entries in the order of the source.
 * An absent key is an entry with `op: 'absent'`. Errors as {@link Key.get} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * ids$.pipe(get(store, id => `asset/${id}`, json<Asset>())).subscribe(entry => show(entry.value))
 * ```
 */
export function get<V, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<V>,
  options?: Options<RequestOptions, E, L>,
): OperatorFunction<unknown, Entry<V> | Failed<E, unknown>>
export function get<T, V, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  codec: Codec<V>,
  options?: Options<RequestOptions, E, L>,
): OperatorFunction<T, Entry<V> | Failed<E, T>>
export function get<T, V, L extends boolean, E extends ErrorMode>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<RequestOptions, E, L>,
  codec?: Codec<V>,
  options: Options<RequestOptions, E, L> = {},
): OperatorFunction<T, Entry<V> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      GET,
      () => target,
      (key, _, options) => key.get(options),
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
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<unknown, DeleteResult | Failed<E, unknown>>
export function del<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function del<T, V, L extends boolean, E extends ErrorMode>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L>,
  options: Options<DeleteOptions, E, L> = {},
): OperatorFunction<T, DeleteResult | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      DEL,
      () => target,
      (key, _, options) => key.delete(options),
      own,
    )
  }
  if (typeof second !== 'function') throw missingArguments('del', 'keyOf')
  return operate(DEL, keysOf(target, second), (key, _, own) => key.delete(own), options)
}

/**
 * Deletes a key if it holds the item, or the key that `keyOf` gives it if that holds the item's value; emits the
 * results in the order of the source. Errors as {@link Key.deleteIf} does, unless `onError: 'emit'`.
 *
 * @example
 * ```ts
 * finished$.pipe(vdel(store, job => `job/${job.id}`, () => 'running')).subscribe()
 * ```
 */
export function vdel<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  key: Key<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function vdel<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<DeleteOptions, E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function vdel<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<DeleteOptions, E, L>,
  toValue?: ValueOf<T>,
  options: Options<DeleteOptions, E, L> = {},
): OperatorFunction<T, DeleteResult | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      VDEL,
      () => target,
      (key, item: T, options) => key.deleteIf(item, options),
      own,
    )
  }
  if (typeof second !== 'function' || !isValueOf(toValue)) throw missingArguments('vdel', 'keyOf, codec or toValue')
  return operate(
    VDEL,
    keysOf(target, second),
    (key, item: T, own) => key.deleteIf(encodeWith(toValue, item, key.name), own),
    options,
  )
}
