import { lastValueFrom, Subject, tap } from 'rxjs'

/**
 * Keeps `inFlight` items in an operator: each result is followed by the next item, as in {@link runConcurrently}.
 *
 * @template T
 * @param {number} inFlight
 * @param {number} count
 * @param {T} item
 * @param {import('rxjs').OperatorFunction<T, unknown>} operator
 */
export function closedLoop(inFlight, count, item, operator) {
  /** @type {Subject<T>} */
  const items$ = new Subject()
  let started = 0
  const feed = () => {
    if (started++ < count) items$.next(item)
    else items$.complete()
  }
  const done = lastValueFrom(items$.pipe(operator, tap(feed)))
  for (let i = 0; i < Math.min(inFlight, count); i++) feed()
  return done
}

/**
 * Keeps `inFlight` promises pending.
 *
 * @param {number} inFlight
 * @param {number} count
 * @param {() => PromiseLike<unknown>} request
 */
export async function runConcurrently(inFlight, count, request) {
  let started = 0
  const worker = async () => {
    while (started++ < count) await request()
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}
