import type { Clock } from './clock.js'

type Schedule = Pick<Clock, 'schedule'>

/** Resolves after `delayMs`. */
export const wait = (delayMs: number, clock: Schedule): Promise<void> =>
  new Promise(resolve => void clock.schedule(delayMs, resolve))

/**
 * Settles as a promise does, or resolves with `undefined` after a timeout.
 *
 * @param start - starts the work: a promise, or a function that is given the callback for its end
 * @example
 * ```ts
 * await settleWithin(2_000, clock, once(socket, 'close'))
 * ```
 */
export async function settleWithin<T>(
  timeoutMs: number,
  clock: Schedule,
  start: Promise<T> | ((resolve: (value: T) => void) => void),
): Promise<T | undefined> {
  let cancel = (): void => undefined
  const timedOut = new Promise<undefined>(resolve => {
    cancel = clock.schedule(timeoutMs, () => resolve(undefined))
  })
  const work = typeof start === 'function' ? new Promise<T>(start) : start
  return Promise.race([work, timedOut]).finally(cancel)
}
