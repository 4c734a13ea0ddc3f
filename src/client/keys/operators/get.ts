import type { OperatorFunction } from 'rxjs'
import type { Entry } from '../../watch/entry.js'
import type { Codec } from '../codec.js'
import type { Key } from '../key.js'
import { GET_NAMES, type RequestOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
import { operate } from './operate.js'
import {
  type DefaultMode,
  type ErrorMode,
  type Failed,
  isKey,
  type KeyOf,
  missingArguments,
  type OperatorOptions,
} from './target.js'

const OPERATOR = { name: 'get', names: GET_NAMES }

type Options<E extends ErrorMode, L extends boolean> = RequestOptions & OperatorOptions<E, L>

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
  options?: Options<E, L>,
): OperatorFunction<unknown, Entry<V> | Failed<E, unknown>>
export function get<T, V, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  codec: Codec<V>,
  options?: Options<E, L>,
): OperatorFunction<T, Entry<V> | Failed<E, T>>
export function get<T, V, L extends boolean, E extends ErrorMode>(
  target: Key<V> | StoreView,
  second?: KeyOf<T> | Options<E, L>,
  codec?: Codec<V>,
  options: Options<E, L> = {},
): OperatorFunction<T, Entry<V> | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      OPERATOR,
      () => target,
      (key, _, options) => key.get(options),
      own,
    )
  }
  if (typeof second !== 'function' || typeof codec?.decode !== 'function') throw missingArguments('get', 'keyOf, codec')
  return operate(
    OPERATOR,
    (item: T) => target.key(second(item), codec),
    (key, _, own) => key.get(own),
    options,
  )
}
