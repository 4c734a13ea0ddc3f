import type { Status } from 'rx-statestore'
import { combineLatest, distinctUntilChanged, type Observable, scan, startWith } from 'rxjs'
import type { StatsSample } from '../../../src/server/console/contract.js'
import type { FeedEvent } from '../api/feed.js'
import { inWords } from '../model/words.js'

/** Whether what the page shows can be relied on. Times in ms on the store's clock. */
export type Health =
  | { readonly state: 'connecting'; readonly why?: string }
  | { readonly state: 'live' }
  | { readonly state: 'frozen'; readonly since: number; readonly until: number }
  | { readonly state: 'stale'; readonly since: number; readonly why: string }
  | { readonly state: 'refused'; readonly why: string }

/** What is known of both connections, that of HTTP and that of MQTT. */
export interface ConnectionHealth {
  readonly feed: FeedEvent | undefined
  readonly status: Status
  /** Until when the store is frozen. */
  readonly frozenUntil: number | undefined
  /** What keeps an attached store from serving. */
  readonly why?: string | undefined
}

/** The health that the signs speak of; `before` tells since when. */
export function healthOf(
  { feed, status, frozenUntil, why: absence }: ConnectionHealth,
  before: Health,
  now: number,
): Health {
  if (feed?.type === 'refused') return { state: 'refused', why: feed.cause.message }
  if (frozenUntil !== undefined && frozenUntil > now && feed?.type !== 'lost') {
    return { state: 'frozen', since: 'since' in before ? before.since : now, until: frozenUntil }
  }
  const why = trouble(feed, status, absence)
  if (why !== undefined) {
    const never = before.state === 'connecting'
    return never ? { state: 'connecting', why } : { state: 'stale', since: 'since' in before ? before.since : now, why }
  }
  if (feed === undefined || status.state === 'connecting')
    return before.state === 'stale' ? before : { state: 'connecting' }
  return { state: 'live' }
}

function trouble(feed: FeedEvent | undefined, status: Status, absence: string | undefined): string | undefined {
  if (feed?.type === 'lost') return inWords(feed.cause).title
  if (absence !== undefined) return absence
  if (status.state === 'reconnecting') return 'The store does not answer'
  return status.state === 'closed' ? (status.cause?.message ?? 'The connection was closed') : undefined
}

/** The health, as it is now; `now` is the store's clock. */
export const watchHealth = (
  feed$: Observable<FeedEvent>,
  status$: Observable<Status>,
  pulse$: Observable<StatsSample | undefined>,
  now: () => number,
): Observable<Health> => {
  return combineLatest([feed$.pipe(startWith(undefined)), status$, pulse$]).pipe(
    scan<readonly [FeedEvent | undefined, Status, StatsSample | undefined], Health>(
      (before, [feed, status, pulse]) =>
        healthOf({ feed, status, frozenUntil: pulse?.frozenUntil, why: pulse?.attached?.why }, before, now()),
      { state: 'connecting' },
    ),
    distinctUntilChanged(sameHealth),
  )
}

const sameHealth = (a: Health, b: Health): boolean => JSON.stringify(a) === JSON.stringify(b)
