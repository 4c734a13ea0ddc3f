import {
  catchError,
  concat,
  defer,
  EMPTY,
  map,
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

/** What is heard from the server; `refused` is the last word. */
export type FeedEvent =
  | { readonly type: 'open'; readonly facts: StoreFacts }
  | { readonly type: 'line'; readonly line: StreamLine }
  | { readonly type: 'lost'; readonly cause: unknown }
  | { readonly type: 'refused'; readonly cause: ApiError }

/** A pulse is due every second; so long without one, and the server is gone, ms. */
const SILENCE = 6_000
const PAUSES = { initial: 250, max: 4_000 }

/** Facts and stream of the server, asked for again and again while it is away. */
export const feed = (api: Pick<Api, 'facts' | 'stream'>): Observable<FeedEvent> =>
  defer(() => {
    let attempt = 0
    let refused = false
    const lost = (cause: unknown): Observable<FeedEvent> => {
      attempt += 1
      refused = cause instanceof ApiError && cause.status === 401
      return of(cause instanceof ApiError && refused ? { type: 'refused', cause } : { type: 'lost', cause })
    }
    return defer(() => connection(api)).pipe(
      tap(({ type }) => {
        if (type === 'line') attempt = 0
      }),
      catchError(lost),
      repeat({ delay: () => (refused ? EMPTY : timer(backoff(attempt, PAUSES))) }),
    )
  })

/** Never completes: an answer that ends is a lost connection as well. */
const connection = (api: Pick<Api, 'facts' | 'stream'>): Observable<FeedEvent> =>
  api.facts().pipe(
    timeout({ first: SILENCE }),
    switchMap(facts => {
      const lines$ = api.stream().pipe(
        timeout({ each: SILENCE }),
        map((line): FeedEvent => ({ type: 'line', line })),
      )
      const ended$ = throwError(() => new Error('The server ended the stream'))
      return concat(of<FeedEvent>({ type: 'open', facts }), lines$, ended$)
    }),
  )
