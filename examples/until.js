import { filter, firstValueFrom, timeout } from 'rxjs'

const TIMEOUT_MS = 8_000

/**
 * Resolves with the first value of a stream that matches. Rejects after 8 s.
 *
 * @template T
 * @param {import('rxjs').Observable<T>} stream$
 * @param {(value: T) => boolean} matches
 */
export const until = (stream$, matches) => firstValueFrom(stream$.pipe(filter(matches), timeout(TIMEOUT_MS)))
