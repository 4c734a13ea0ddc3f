import { Observable } from 'rxjs'
import { reason } from '../../../core/util/errors.js'
import { StreamError } from '../cluster/stream.js'

/** Names of errors of NATS after which the same would fail again. */
const REFUSED = new Set(['InvalidArgumentError', 'PermissionViolationError', 'AuthorizationError'])

/** An error of NATS as one of a stream. */
export function streamError(what: string, cause: unknown): StreamError {
  if (cause instanceof StreamError) return cause
  const isRefused = cause instanceof Error && REFUSED.has(cause.name)
  return new StreamError(isRefused ? 'refused' : 'lost', `${what}: ${reason(cause)}`, { cause })
}

/** What a promise comes to, begun by the subscription; after its end nobody hears of it. @param what - for an error */
export const whenDone = <T>(what: string, begin: () => Promise<T>): Observable<T> =>
  new Observable(subscriber => {
    begin().then(
      value => {
        subscriber.next(value)
        subscriber.complete()
      },
      cause => subscriber.error(streamError(what, cause)),
    )
  })
