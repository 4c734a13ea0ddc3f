import { catchError, map, type Observable, type OperatorFunction, of, throwError } from 'rxjs'
import { checkFlag, checkOptionNames, checkPositiveInteger, type OptionNames } from '../../../core/util/check.js'
import { ArgumentError, reason, StateStoreError, shown } from '../../../core/util/errors.js'
import { isTransient } from '../../watch/lasting.js'
import type { Key } from '../key.js'
import { checkSetOptions, checkTimeout, ELSEWHERE, type SetOptions } from '../options.js'
import { pipeline } from './pipeline.js'
import type { ErrorMode, Failed, Failure, OperatorOptions } from './target.js'

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

const OWN_NAMES: OptionNames<OperatorOptions<ErrorMode, boolean>> = {
  concurrency: true,
  buffer: true,
  latest: true,
  onError: true,
}

/**
 * An operator that makes a request of every item; `request` is given the options that are the request's. Throws `argument`
 * for wrong options.
 */
export function operate<T, V, R, L extends boolean, E extends ErrorMode>(
  operator: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<E, L>,
): OperatorFunction<T, R | Failed<E, T>>
export function operate<T, V, R>(
  { name, names }: Operator,
  keyOf: (item: T) => Key<V>,
  request: (key: Key<V>, item: T, options: SetOptions) => Observable<R>,
  options: SetOptions & OperatorOptions<ErrorMode, boolean>,
): OperatorFunction<T, R | Failure<T>> {
  checkOptionNames(`the operator ${name}`, options, { ...names, ...OWN_NAMES }, ELSEWHERE)
  checkOptions(options)
  const { concurrency, buffer, latest, onError, ...own } = options
  if (latest !== undefined) checkFlag('latest', latest)
  const attempt = ({ item, key, cause }: Keyed<T, V>): Observable<R> => {
    if (key === undefined) return throwError(() => cause)
    try {
      return request(key, item, own)
    } catch (error) {
      return throwError(() => error)
    }
  }
  const survives = survivorsOf(onError, latest)
  const forgiving = (keyed: Keyed<T, V>): Observable<R | Failure<T>> =>
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

function checkOptions(options: SetOptions & OperatorOptions<ErrorMode, boolean>): void {
  const { concurrency, buffer, timeout, onError } = options
  if (concurrency !== undefined) checkPositiveInteger('concurrency', concurrency)
  if (buffer !== undefined) checkPositiveInteger('buffer', buffer)
  if (timeout !== undefined) checkTimeout(timeout, timeout)
  checkSetOptions(options)
  if (onError === undefined || onError === 'throw' || onError === 'emit') return
  throw new ArgumentError(`Expected \`onError\` to be 'throw' or 'emit', got \`${shown(onError)}\``)
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
