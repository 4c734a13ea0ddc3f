import { requestChannel } from '../../core/diagnostics/client-channels.js'
import type { RequestTrace } from '../../core/diagnostics/client-events.js'
import type { StateStoreError } from '../../core/util/errors.js'

/** The subscriber of one result. */
export interface ResultObserver<T> {
  next(value: T): void
  complete(): void
  error(error: StateStoreError): void
}

/** Sends a request with `send` and publishes its progress on {@link requestChannel}. */
export function sendTraced<T>(
  request: Pick<RequestTrace, 'clientId' | 'url' | 'verb' | 'key' | 'glob'>,
  observer: ResultObserver<T>,
  send: (observer: ResultObserver<T>, trace: RequestTrace) => () => void,
): () => void {
  const trace: RequestTrace = { ...request, properties: {}, outcome: 'pending', error: undefined }
  const settle = (outcome: RequestTrace['outcome'], error: StateStoreError | undefined, deliver: () => void): void => {
    trace.outcome = outcome
    trace.error = error
    requestChannel.settle(trace, error !== undefined, deliver)
  }
  const traced: ResultObserver<T> = {
    next: value =>
      settle('succeeded', undefined, () => {
        observer.next(value)
        observer.complete()
      }),
    complete: () => undefined,
    error: error => settle('failed', error, () => observer.error(error)),
  }
  const cancel = requestChannel.begin(trace, () => send(traced, trace))
  return () => {
    cancel()
    if (trace.outcome === 'pending') settle('cancelled', undefined, () => undefined)
  }
}
