import { catchError, from, map, mergeMap, type Observable, of, toArray } from 'rxjs'
import { type ErrorCode, StateStoreError } from '../client/index.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import type { ConnectionFlags } from './flags.js'
import { type Io, print } from './io.js'
import { type KeyArgument, nameOf } from './key-text.js'

/** The request's outcome for one key of several. */
export type Answer<T, K = KeyArgument> = { readonly key: K } & ({ readonly result: T } | { readonly error: unknown })

const CONCURRENCY = 64
/** Codes of errors that concern the connection rather than a key. */
const CONNECTION_ERRORS: ReadonlySet<ErrorCode> = new Set(['timeout', 'closed', 'connection-refused', 'no-store'])
/** Maximum number of keys that a message names. Further keys are only counted. */
const MAX_NAMED = 5

/**
 * Sends a request for each key; a failed request does not stop the others. Returns the outcomes in the order of the
 * keys.
 */
export const requestAll = <T, K>(
  keys: readonly K[],
  request: (key: K) => Observable<T>,
): Observable<readonly Answer<T, K>[]> =>
  from(keys.entries()).pipe(
    mergeMap(
      ([index, key]) =>
        request(key).pipe(
          map((result): Answer<T, K> => ({ key, result })),
          catchError((error: unknown) => of<Answer<T, K>>({ key, error })),
          map(answer => ({ index, answer })),
        ),
      CONCURRENCY,
    ),
    toArray(),
    map(answers => answers.sort((a, b) => a.index - b.index).map(({ answer }) => answer)),
    map(throwSharedError),
  )

// An unreachable broker is reported once instead of for each key.
function throwSharedError<T, K>(answers: readonly Answer<T, K>[]): readonly Answer<T, K>[] {
  const [first] = answers
  if (first !== undefined && 'error' in first && answers.every(isConnectionError)) throw first.error
  if (first !== undefined && 'error' in first && answers.length === 1) throw first.error
  return answers
}

const isConnectionError = (answer: Answer<unknown, unknown>): boolean =>
  'error' in answer && answer.error instanceof StateStoreError && CONNECTION_ERRORS.has(answer.error.code)

/**
 * Prints a line for each result. Throws a {@link Failure}, with exit code 1 if a request failed and with 3 if keys were
 * only missing.
 */
export async function printAll<T>(
  answers: readonly Answer<T>[],
  toLine: (key: KeyArgument, result: T) => string,
  isMissing: (result: T) => boolean,
  { json }: Pick<ConnectionFlags, 'json'>,
  io: Io,
): Promise<void> {
  const lines = answers.map(answer => ('result' in answer ? toLine(answer.key, answer.result) : ''))
  await print(io.stdout, lines.join(''))
  checkAll(answers, isMissing, json === true)
}

function checkAll<T>(answers: readonly Answer<T>[], missing: (result: T) => boolean, silent: boolean): void {
  const failed = answers.flatMap(answer =>
    'error' in answer ? [`${nameOf(answer.key)}: ${reason(answer.error)}`] : [],
  )
  const absent = answers.flatMap(answer => ('result' in answer && missing(answer.result) ? [nameOf(answer.key)] : []))
  const message = [
    ...failed.slice(0, MAX_NAMED),
    ...(failed.length > MAX_NAMED ? [`${failed.length - MAX_NAMED} more failed`] : []),
    ...(absent.length > 0 && !silent ? [missingWords(absent)] : []),
  ]
  if (failed.length > 0) throw new Failure(EXIT.failed, message.join('; '))
  if (absent.length > 0) throw new Failure(EXIT.notMet, message.join('; '))
}

function missingWords(absent: readonly string[]): string {
  const named = absent.slice(0, MAX_NAMED).join(', ')
  const rest = absent.length > MAX_NAMED ? ` and ${absent.length - MAX_NAMED} more` : ''
  return `no such key${absent.length === 1 ? '' : 's'}: ${named}${rest}`
}
