import { catchError, defer, EMPTY, exhaustMap, map, type Observable, timeout, timer } from 'rxjs'
import { type Api, POLL_TIMEOUT_MS } from '../api/api.js'
import { addSamples, type Metrics } from '../model/metrics.js'

/** Interval at which new samples are requested, ms. The server takes one every ten seconds. */
const POLL_MS = 5_000

/** Emits the metrics of the last hour. A failed request is repeated; the header shows that the store is unreachable. */
export const watchMetrics = (api: Pick<Api, 'history'>): Observable<Metrics> =>
  defer(() => {
    let metrics: Metrics | undefined
    return timer(0, POLL_MS).pipe(
      exhaustMap(() => {
        const since = metrics?.samples.at(-1)?.at ?? 0
        return api.history(since).pipe(
          timeout(POLL_TIMEOUT_MS),
          catchError(() => EMPTY),
        )
      }),
      map(response => {
        metrics = addSamples(metrics, response)
        return metrics
      }),
    )
  })
