import { ArgumentError, type StateStoreError } from '../../../core/util/errors.js'
import { bytes, type Codec, encodeFor, text } from '../codec.js'
import type { Key } from '../key.js'
import type { StoreView } from '../store-view.js'
import type { PipelineOptions } from './pipeline.js'

/** What a failed request does: end the stream (`throw`), or become a {@link Failure} (`emit`). */
export type ErrorMode = 'throw' | 'emit'

/** Options of every operator. */
export interface OperatorOptions<E extends ErrorMode, L extends boolean = boolean> extends PipelineOptions {
  readonly latest?: L
  /**
   * Default `throw`. With `latest` and without this option, troubles of network, load and clocks (`timeout`,
   * `outcome-unknown`, `no-store` and the like) become failures, and any other error ends the stream.
   */
  readonly onError?: E
}

/** A request that failed while the stream goes on: with `onError: 'emit'`, and with `latest`. */
export interface Failure<T = unknown> {
  /** Empty where the item has no key. */
  readonly key: string
  /** What the request was made of. */
  readonly item: T
  readonly error: StateStoreError
}

/** The `onError` of an operator that is given none: an outage does not end one with `latest`. */
export type DefaultMode<L extends boolean> = L extends true ? 'emit' : 'throw'

/** What a failed request adds to the results. */
export type Failed<E extends ErrorMode, T> = E extends 'emit' ? Failure<T> : never

/** The key of an item. */
export type KeyOf<T> = (item: T) => string | Uint8Array

/** The value of an item: by a codec, the item itself; by a function, its text or bytes. */
export type ValueOf<T> = Codec<T> | ((item: T) => string | Uint8Array)

/** The stored bytes of an item. Throws `argument` that names the key, or whatever the function throws. */
export const encodeWith = <T>(toValue: ValueOf<T>, item: T, key: string): Uint8Array =>
  typeof toValue === 'function' ? encodeFor(key, textOrBytes, toValue(item)) : encodeFor(key, toValue, item)

const textOrBytes = {
  encode: (value: string | Uint8Array): Uint8Array =>
    typeof value === 'string' ? text.encode(value) : bytes.encode(value),
}

/** Whether an argument can make values of items. */
export const isValueOf = <T>(argument: ValueOf<T> | undefined): argument is ValueOf<T> =>
  typeof argument === 'function' || typeof argument?.encode === 'function'

/** Keys taken from the stream, as bytes. */
export const keysOf =
  <T>(store: StoreView, keyOf: KeyOf<T>): ((item: T) => Key<Uint8Array>) =>
  item =>
    store.key(keyOf(item), bytes)

/** For an operator called with a store, but without what it then needs. */
export const missingArguments = (operator: string, needed: string): ArgumentError =>
  new ArgumentError(`Expected ${operator}(key, options?) or ${operator}(store, ${needed}, options?)`)

/** Whether an operator's first argument is a key handle. */
export const isKey = <T>(target: StoreView | Key<T>): target is Key<T> =>
  Object(target) === target && 'entries$' in target
