import { catchError, map, type Observable, type OperatorFunction, of, throwError } from 'rxjs'
import { checkFlag, checkOptionNames, checkPositiveInteger, type OptionNames } from '../../../core/util/check.js'
import { ArgumentError, formatValue, reason, StateStoreError } from '../../../core/util/errors.js'
import type { ItemResult, WithItem } from '../../../core/util/with-item.js'
import { isTransient } from '../../watch/permanent-errors.js'
import { bytes, type Codec, encodeFor, text } from '../codec.js'
import type { Key } from '../key.js'
import { checkSetOptions, checkTimeout, ELSEWHERE, type SetOptions } from '../options.js'
import type { StoreView } from '../store-view.js'
import { type PipelineOptions, pipeline } from './pipeline.js'

/** An item and its key, looked up once: the function that gives it may count. */
interface Keyed<T, V> {
  readonly item: T
  readonly key: Key<V> | undefined
  /** Why there is no key. */
  readonly cause: unknown
}

/** An operator, and the options of its requests. */
interface Operator {
  readonly name: string
  readonly names: Partial<OptionNames<SetOptions>>
}

const OWN_NAMES: OptionNames<OperatorOptions<ErrorMode, boolean, boolean>> = {
  concurrency: true,
  buffer: true,
  latest: true,
  onError: true,
  withItem: true,
}

/**
 * An operator that makes a request of every item; `request` is given the options that are the request's. Throws `argument`
 * for wrong options.
 */
export function operate<T, V, R, L extends boolean, E extends ErrorMode, W extends boolean>(
  operator: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<E, L, W>,
): OperatorFunction<T, WithItem<W, T, R> | Failed<E, T>>
export function operate<T, V, R>(
  { name, names }: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<ErrorMode, boolean, boolean>,
): OperatorFunction<T, R | ItemResult<T, R> | Failure<T>> {
  checkOptionNames(`the operator ${name}`, options, { ...names, ...OWN_NAMES }, ELSEWHERE)
  checkOptions(options)
  const { concurrency, buffer, latest, onError, withItem = false, ...own } = options
  if (latest !== undefined) checkFlag('latest', latest)
  checkFlag('withItem', withItem)
  const attempt = ({ item, key, cause }: Keyed<T, V>): Observable<R | ItemResult<T, R>> => {
    if (key === undefined) return throwError(() => cause)
    try {
      const result$ = request(key, item, own)
      return withItem ? result$.pipe(map(result => ({ item, result }))) : result$
    } catch (error) {
      return throwError(() => error)
    }
  }
  const survives = survivorsOf(onError, latest)
  const forgiving = (keyed: Keyed<T, V>): Observable<R | ItemResult<T, R> | Failure<T>> =>
    attempt(keyed).pipe(
      catchError((cause: unknown) => {
        if (!survives(cause)) return throwError(() => cause)
        return of({ key: keyed.key?.name ?? '', item: keyed.item, error: asError(cause) })
      }),
    )
  // An item without a key has none in common with another.
  const identity = (keyed: Keyed<T, V>): unknown => keyed.key?.id ?? keyed
  return source =>
    source.pipe(
      map(item => lookUp(keyOf, item)),
      pipeline(forgiving, identity, options),
    )
}

/** Which errors of requests the stream survives. */
function survivorsOf(onError: ErrorMode | undefined, latest: boolean | undefined): (cause: unknown) => boolean {
  if (onError === 'emit') return () => true
  if (onError === 'throw' || latest !== true) return () => false
  // A newer item follows an outage; what no later item can mend has to be seen.
  return isTransient
}

function checkOptions(options: SetOptions & OperatorOptions<ErrorMode, boolean, boolean>): void {
  const { concurrency, buffer, timeout, onError } = options
  if (concurrency !== undefined) checkPositiveInteger('concurrency', concurrency)
  if (buffer !== undefined) checkPositiveInteger('buffer', buffer)
  if (timeout !== undefined) checkTimeout(timeout, timeout)
  checkSetOptions(options)
  if (onError === undefined || onError === 'throw' || onError === 'emit') return
  throw new ArgumentError(`Expected \`onError\` to be 'throw' or 'emit', got \`${formatValue(onError)}\``)
}

// It fails when its request is made, where `onError` decides what becomes of it.
function lookUp<T, V>(keyOf: (item: T) => Key<V>, item: T): Keyed<T, V> {
  try {
    return { item, key: keyOf(item), cause: undefined }
  } catch (cause) {
    return { item, key: undefined, cause }
  }
}

const asError = (cause: unknown): StateStoreError =>
  cause instanceof StateStoreError ? cause : new ArgumentError(`The item cannot be used: ${reason(cause)}`, { cause })

/** What a failed request does: end the stream (`throw`), or become a {@link Failure} (`emit`). */
export type ErrorMode = 'throw' | 'emit'

/** Options of every operator. */
export interface OperatorOptions<E extends ErrorMode, L extends boolean = boolean, W extends boolean = false>
  extends PipelineOptions {
  readonly latest?: L | undefined
  /**
   * Default `throw`. With `latest` and without this option, troubles of network, load and clocks (`timeout`,
   * `outcome-unknown`, `no-store` and the like) become failures, and any other error ends the stream.
   */
  readonly onError?: E | undefined
  /** Emit `{ item, result }` in place of the result. A {@link Failure} has its item anyway, and stays as it is. Default `false`. */
  readonly withItem?: W | undefined
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
