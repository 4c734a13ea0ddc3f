import {
  catchError,
  concat,
  defer,
  EMPTY,
  mergeMap,
  type Observable,
  of,
  repeat,
  switchMap,
  tap,
  throwError,
  timeout,
  timer,
} from 'rxjs'
import { backoff } from '../../../src/core/util/backoff.js'
import type { StoreFacts, StreamLine } from '../../../src/server/console/contract.js'
import { type Api, ApiError } from './api.js'

/** An event of the connection to the server; `refused` is the last one. */
export type FeedEvent =
  | { readonly type: 'open'; readonly facts: StoreFacts }
  | { readonly type: 'line'; readonly line: StreamLine }
  | { readonly type: 'lost'; readonly cause: unknown }
  | { readonly type: 'refused'; readonly cause: ApiError }

/** The silence after which a connection is considered lost, ms. The server sends a pulse every second. */
const SILENCE_TIMEOUT_MS = 6_000
const RETRY_DELAY = { initial: 250, max: 4_000 }

/** Emits the facts and the server's stream, and reconnects with backoff. */
export const feed = (api: Pick<Api, 'facts' | 'stream'>): Observable<FeedEvent> =>
  defer(() => {
    let attempt = 0
    let refused = false
    const onError = (cause: unknown): Observable<FeedEvent> => {
      attempt += 1
      refused = cause instanceof ApiError && cause.status === 401
      return of(cause instanceof ApiError && refused ? { type: 'refused', cause } : { type: 'lost', cause })
    }
    return defer(() => connection(api)).pipe(
      tap(({ type }) => {
        if (type === 'line') attempt = 0
      }),
      catchError(onError),
      repeat({ delay: () => (refused ? EMPTY : timer(backoff(attempt, RETRY_DELAY))) }),
    )
  })

/** Emits the facts and the stream of one connection. Never completes: the end of the response is an error. */
const connection = (api: Pick<Api, 'facts' | 'stream'>): Observable<FeedEvent> =>
  api.facts().pipe(
    timeout({ first: SILENCE_TIMEOUT_MS }),
    switchMap(facts => {
      const lines$ = api.stream().pipe(
        timeout({ each: SILENCE_TIMEOUT_MS }),
        mergeMap(lines => lines.map((line): FeedEvent => ({ type: 'line', line }))),
      )
      const ended$ = throwError(() => new Error('The server ended the stream'))
      return concat(of<FeedEvent>({ type: 'open', facts }), lines$, ended$)
    }),
  )
