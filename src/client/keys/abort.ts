import { Observable } from 'rxjs'
import { AbortError, ArgumentError, shown } from '../../core/util/errors.js'

/** For callers who hold no subscription. */
export interface AbortOptions {
  /**
   * Gives up when it is aborted, as unsubscribing does, and errors with `aborted`, whose `cause` is the signal's reason.
   * Aborted before, nothing is sent.
   */
  readonly signal?: AbortSignal | undefined
}

/** The signal of options. Throws {@link ArgumentError}. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  // By its shape: one of another window or worker is a signal, too.
  if (signal === undefined || typeof signal?.addEventListener === 'function') return signal
  throw new ArgumentError(`Expected \`signal\` to be an AbortSignal, got \`${shown(signal)}\` (${typeof signal})`)
}

/** The same, but ended by the signal. */
export function abortable<T>(source: Observable<T>, signal: AbortSignal | undefined): Observable<T> {
  if (signal === undefined) return source
  return new Observable(subscriber => {
    if (signal.aborted) {
      subscriber.error(new AbortError(signal.reason))
      return
    }
    const abort = (): void => subscriber.error(new AbortError(signal.reason))
    signal.addEventListener('abort', abort)
    subscriber.add(() => signal.removeEventListener('abort', abort))
    source.subscribe(subscriber)
  })
}
