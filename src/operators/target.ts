import { catchError, defer, type Observable, type OperatorFunction, of } from 'rxjs'
import { utf8 } from '../bytes.js'
import type { StateStore } from '../client.js'
import { ArgumentError, reason, StateStoreError } from '../errors.js'
import { bytes, type Codec } from '../keys/codec.js'
import type { Key } from '../keys/key.js'
import { checkPositiveInteger } from '../keys/options.js'
import { type PipelineOptions, pipeline } from './pipeline.js'

/** What a failed request does: end the stream (`throw`, the default), or become a {@link Failure} (`emit`). */
export type ErrorMode = 'throw' | 'emit'

/** Options of every operator. */
export interface OperatorOptions<E extends ErrorMode> extends PipelineOptions {
  readonly onError?: E
}

/** With `onError: 'emit'`: a request that failed; the stream goes on. */
export interface Failure {
  readonly key: string
  readonly error: StateStoreError
}

/** What a failed request adds to the results. */
export type Failed<E extends ErrorMode> = E extends 'emit' ? Failure : never

/** The key of an item. */
export type KeyOf<T> = (item: T) => string | Uint8Array

/** The value of an item: by a codec, the item itself; by a function, its text or bytes. */
export type ValueOf<T> = Codec<T> | ((item: T) => string | Uint8Array)

/** The stored bytes of an item. */
export const encodeWith = <T>(toValue: ValueOf<T>, item: T): Uint8Array => {
  if (typeof toValue !== 'function') return toValue.encode(item)
  const value = toValue(item)
  return typeof value === 'string' ? utf8(value) : value
}

/** Keys taken from the stream, as bytes. */
export const keysOf =
  <T>(store: StateStore, keyOf: KeyOf<T>): ((item: T) => Key<Uint8Array>) =>
  item =>
    store.key(keyOf(item), bytes)

/** For an operator called with a store, but without what it then needs. */
export const missingArguments = (operator: string, needed: string): ArgumentError =>
  new ArgumentError(`Expected ${operator}(key, options?) or ${operator}(store, ${needed}, options?)`)

/** Whether an operator's first argument is a key handle. */
export const isKey = <T>(target: StateStore | Key<T>): target is Key<T> => 'entries$' in target

/** An operator that makes a request of every item. Throws `argument` for wrong options. */
export function operate<T, V, R, E extends ErrorMode>(
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T) => Observable<R>,
  options: OperatorOptions<E>,
): OperatorFunction<T, R | Failed<E>>
export function operate<T, V, R>(
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T) => Observable<R>,
  options: OperatorOptions<ErrorMode>,
): OperatorFunction<T, R | Failure> {
  if (options.concurrency !== undefined) checkPositiveInteger('concurrency', options.concurrency)
  if (options.buffer !== undefined) checkPositiveInteger('buffer', options.buffer)
  const attempt = (item: T): Observable<R> => defer(() => request(keyOf(item), item))
  const name = (item: T): string => nameOf(keyOf, item)
  if (options.onError !== 'emit') return pipeline(attempt, name, options)
  const forgiving = (item: T): Observable<R | Failure> =>
    attempt(item).pipe(catchError((cause: unknown) => of({ key: name(item), error: asError(cause) })))
  return pipeline(forgiving, name, options)
}

// An item without a key fails when its request is made, where `onError` decides what becomes of it.
function nameOf<T, V>(keyOf: (item: T) => Key<V>, item: T): string {
  try {
    return keyOf(item).name
  } catch {
    return ''
  }
}

const asError = (cause: unknown): StateStoreError =>
  cause instanceof StateStoreError ? cause : new ArgumentError(`The item cannot be used: ${reason(cause)}`, { cause })
