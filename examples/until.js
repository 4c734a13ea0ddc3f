import { filter, firstValueFrom, timeout } from 'rxjs'

/** ms */
const PATIENCE = 8_000

/**
 * The first value of a stream that fits.
 *
 * @template T
 * @param {import('rxjs').Observable<T>} stream$
 * @param {(value: T) => boolean} fits
 */
export const until = (stream$, fits) => firstValueFrom(stream$.pipe(filter(fits), timeout(PATIENCE)))
