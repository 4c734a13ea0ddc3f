import { catchError, from, map, type Observable, type OperatorFunction, of, throwError } from 'rxjs'
import { Awaitable, NO_ITEM } from '../../../core/util/awaitable.js'
import { checkFlag, checkOptionNames, checkPositiveInteger, type OptionNames } from '../../../core/util/check.js'
import { ArgumentError, formatValue, reason, StateStoreError } from '../../../core/util/errors.js'
import type { ItemResult } from '../../../core/util/item-result.js'
import { isTransient } from '../../../core/util/transient-errors.js'
import { bytes, type Codec, encodeFor, text } from '../codec.js'
import type { Key } from '../key.js'
import { ALIASES, checkSetOptions, checkTimeout, type SetOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
import { type PipelineOptions, pipeline } from './pipeline.js'

/** An item and its key, which is computed once because `keyOf` may have side effects. */
interface Keyed<T, V> {
  readonly item: T
  readonly key: Key<V> | undefined
  readonly cause: unknown
}

interface Operator {
  readonly name: string
  readonly names: Partial<OptionNames<SetOptions>>
}

const OPERATOR_NAMES: OptionNames<OperatorOptions<ErrorMode>> = {
  concurrency: true,
  buffer: true,
  latest: true,
  onError: true,
}

export function operate<T, V, R, L extends boolean, E extends ErrorMode>(
  operator: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<E, L>,
): OperatorFunction<T, ItemResult<T, R> | Failed<E, T>>
export function operate<T, V, R>(
  { name, names }: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<ErrorMode>,
): OperatorFunction<T, ItemResult<T, R> | Failure<T>> {
  checkOptionNames(`the operator ${name}`, options, { ...names, ...OPERATOR_NAMES }, ALIASES)
  checkOptions(options)
  const { concurrency, buffer, latest, onError, ...requestOptions } = options
  if (latest !== undefined) checkFlag('latest', latest)
  const attempt = ({ item, key, cause }: Keyed<T, V>): Observable<ItemResult<T, R>> => {
    if (key === undefined) return throwError(() => cause)
    try {
      return request(key, item, requestOptions).pipe(map(result => ({ ...result, item })))
    } catch (error) {
      return throwError(() => error)
    }
  }
  const isSurvivable = survivableErrors(onError, latest)
  const attemptOrEmit = (keyed: Keyed<T, V>): Observable<ItemResult<T, R> | Failure<T>> =>
    attempt(keyed).pipe(
      catchError((cause: unknown) => {
        if (!isSurvivable(cause)) return throwError(() => cause)
        return of({ key: keyed.key?.name ?? '', item: keyed.item, error: toStoreError(cause) })
      }),
    )
  // An item without a key is never replaced by another.
  const identity = (keyed: Keyed<T, V>): unknown => keyed.key?.id ?? keyed
  return source => {
    // The source may be an observable of another copy of RxJS, which this copy's operators do not accept.
    const results$ = from(source).pipe(
      map(item => lookUp(keyOf, item)),
      pipeline(attemptOrEmit, identity, options),
    )
    return new Awaitable<ItemResult<T, R> | Failure<T>, undefined>(
      subscriber => results$.subscribe(subscriber),
      NO_ITEM,
    )
  }
}

/** Returns a predicate for the request errors that do not end the stream. */
function survivableErrors(onError: ErrorMode | undefined, latest: boolean | undefined): (cause: unknown) => boolean {
  if (onError === 'emit') return () => true
  if (onError === 'throw' || latest !== true) return () => false
  // A newer item replaces one that failed because of an outage, but does not help against a permanent error.
  return isTransient
}

function checkOptions(options: SetOptions & OperatorOptions<ErrorMode>): void {
  const { concurrency, buffer, timeout, onError } = options
  if (concurrency !== undefined) checkPositiveInteger('concurrency', concurrency)
  if (buffer !== undefined) checkPositiveInteger('buffer', buffer)
  if (timeout !== undefined) checkTimeout(timeout, timeout)
  checkSetOptions(options)
  if (onError === undefined || onError === 'throw' || onError === 'emit') return
  throw new ArgumentError(`Expected \`onError\` to be 'throw' or 'emit', got \`${formatValue(onError)}\``)
}

// A throwing `keyOf` fails the request, so that `onError` applies.
function lookUp<T, V>(keyOf: (item: T) => Key<V>, item: T): Keyed<T, V> {
  try {
    return { item, key: keyOf(item), cause: undefined }
  } catch (cause) {
    return { item, key: undefined, cause }
  }
}

const toStoreError = (cause: unknown): StateStoreError =>
  cause instanceof StateStoreError ? cause : new ArgumentError(`The item cannot be used: ${reason(cause)}`, { cause })

/**
 * How a failed request is handled: the failure ends the stream (`throw`) or is emitted as a {@link Failure} (`emit`).
 */
export type ErrorMode = 'throw' | 'emit'

/** Options of every operator. */
export interface OperatorOptions<E extends ErrorMode, L extends boolean = boolean> extends PipelineOptions {
  readonly latest?: L | undefined
  /**
   * Default `throw`. With `latest` and without this option, transient errors of network, load and clocks (`timeout`,
   * `outcome-unknown`, `no-store` and the like) are emitted as failures, and any other error ends the stream.
   */
  readonly onError?: E | undefined
}

/** A failed request that does not end the stream, because of `onError: 'emit'` or `latest`. */
export interface Failure<T = unknown> {
  /** The key of the request; empty if `keyOf` threw. */
  readonly key: string
  /** The source item of the request. */
  readonly item: T
  readonly error: StateStoreError
}

/** The default of `onError`: with `latest`, an outage does not end the stream. */
export type DefaultMode<L extends boolean> = L extends true ? 'emit' : 'throw'

/** The result type of a failed request: {@link Failure} with `emit`, none with `throw`. */
export type Failed<E extends ErrorMode, T> = E extends 'emit' ? Failure<T> : never

/** Returns the key of an item. */
export type KeyOf<T> = (item: T) => string | Uint8Array

/** An encoder of items: a codec for the item itself, or a function that returns text or bytes. */
export type ValueOf<T> = Codec<T> | ((item: T) => string | Uint8Array)

export const encodeWith = <T>(toValue: ValueOf<T>, item: T, key: string): Uint8Array =>
  typeof toValue === 'function' ? encodeFor(key, textOrBytes, toValue(item)) : encodeFor(key, toValue, item)

const textOrBytes = {
  encode: (value: string | Uint8Array): Uint8Array =>
    typeof value === 'string' ? text.encode(value) : bytes.encode(value),
}

export const isValueOf = <T>(argument: ValueOf<T> | undefined): argument is ValueOf<T> =>
  typeof argument === 'function' || typeof argument?.encode === 'function'

export const keysOf =
  <T>(store: StoreView, keyOf: KeyOf<T>): ((item: T) => Key<Uint8Array>) =>
  item =>
    store.key(keyOf(item), bytes)

/** Returns the error for an operator that was called with a store but without the other arguments of that form. */
export const missingArguments = (operator: string, needed: string): ArgumentError =>
  new ArgumentError(`Expected ${operator}(key, options?) or ${operator}(store, ${needed}, options?)`)

export const isKey = <T>(target: StoreView | Key<T>): target is Key<T> =>
  Object(target) === target && 'entries$' in target
