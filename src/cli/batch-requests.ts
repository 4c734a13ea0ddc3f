import { catchError, from, map, mergeMap, type Observable, of, toArray } from 'rxjs'
import { type ErrorCode, StateStoreError } from '../client/index.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'
import { type KeyArgument, nameOf } from './key-text.js'

/** What the request about one of several keys came to. */
export type Answer<T, K = KeyArgument> = { readonly key: K } & ({ readonly result: T } | { readonly error: unknown })

/** Requests that are under way at a time. */
const CONCURRENCY = 64
/** What tells of the broker, whatever key it was said of. */
const AWAY: ReadonlySet<ErrorCode> = new Set(['timeout', 'closed', 'connection-refused', 'no-store'])
/** Keys that a message names before it counts. */
const MOST_NAMED = 5

/** Asks about all keys; what goes wrong with one keeps no other from its answer. Answers in the order of the keys. */
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
    map(sameTroubleForAll),
  )

// A broker that is away says nothing about a key, and has words of its own.
function sameTroubleForAll<T, K>(answers: readonly Answer<T, K>[]): readonly Answer<T, K>[] {
  const [first] = answers
  if (first !== undefined && 'error' in first && answers.every(isAway)) throw first.error
  // Nor need a single key be named twice.
  if (first !== undefined && 'error' in first && answers.length === 1) throw first.error
  return answers
}

const isAway = (answer: Answer<unknown, unknown>): boolean =>
  'error' in answer && answer.error instanceof StateStoreError && AWAY.has(answer.error.code)

/** Ends a command when not all went well: with 1 if a request failed, with 3 if keys were merely missing. */
export function checkAll<T>(answers: readonly Answer<T>[], missing: (result: T) => boolean, silent: boolean): void {
  const failed = answers.flatMap(answer =>
    'error' in answer ? [`${nameOf(answer.key)}: ${reason(answer.error)}`] : [],
  )
  const absent = answers.flatMap(answer => ('result' in answer && missing(answer.result) ? [nameOf(answer.key)] : []))
  const words = [
    ...failed.slice(0, MOST_NAMED),
    ...(failed.length > MOST_NAMED ? [`${failed.length - MOST_NAMED} more failed`] : []),
    ...(absent.length > 0 && !silent ? [missingWords(absent)] : []),
  ]
  if (failed.length > 0) throw new Failure(EXIT.failed, words.join('; '))
  if (absent.length > 0) throw new Failure(EXIT.notMet, words.join('; '))
}

function missingWords(absent: readonly string[]): string {
  const named = absent.slice(0, MOST_NAMED).join(', ')
  const rest = absent.length > MOST_NAMED ? ` and ${absent.length - MOST_NAMED} more` : ''
  return `no such key${absent.length === 1 ? '' : 's'}: ${named}${rest}`
}
