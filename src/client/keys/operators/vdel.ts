import type { OperatorFunction } from 'rxjs'
import type { DeleteResult, Key } from '../key.js'
import { DELETE_NAMES, type DeleteOptions } from '../options.js'
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

const OPERATOR = { name: 'vdel', names: DELETE_NAMES }

type Options<E extends ErrorMode, L extends boolean> = DeleteOptions & OperatorOptions<E, L>

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
  options?: Options<E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function vdel<T, L extends boolean = false, E extends ErrorMode = DefaultMode<L>>(
  store: StoreView,
  keyOf: KeyOf<T>,
  toValue: ValueOf<T>,
  options?: Options<E, L>,
): OperatorFunction<T, DeleteResult | Failed<E, T>>
export function vdel<T, L extends boolean, E extends ErrorMode>(
  target: Key<T> | StoreView,
  second?: KeyOf<T> | Options<E, L>,
  toValue?: ValueOf<T>,
  options: Options<E, L> = {},
): OperatorFunction<T, DeleteResult | Failed<E, T>> {
  if (isKey(target)) {
    const own = typeof second === 'object' ? second : options
    return operate(
      OPERATOR,
      () => target,
      (key, item: T, options) => key.deleteIf(item, options),
      own,
    )
  }
  if (typeof second !== 'function' || !isValueOf(toValue)) throw missingArguments('vdel', 'keyOf, codec or toValue')
  return operate(
    OPERATOR,
    keysOf(target, second),
    (key, item: T, own) => key.deleteIf(encodeWith(toValue, item, key.name), own),
    options,
  )
}
