import type { Status } from 'rx-statestore'
import { combineLatest, distinctUntilChanged, type Observable, scan, startWith } from 'rxjs'
import type { StatsSample } from '../../../src/server/console/contract.js'
import type { FeedEvent } from '../api/feed.js'
import { describeError } from '../model/error-text.js'

/** Whether the displayed values are current, or stale because the store or its server does not answer. All times are in ms on the store's clock. */
export type Health =
  | { readonly state: 'connecting'; readonly why?: string }
  | { readonly state: 'live' }
  | { readonly state: 'frozen'; readonly since: number; readonly until: number }
  | { readonly state: 'stale'; readonly since: number; readonly why: string }
  /** The console rejects the token, or the broker rejects the page. */
  | { readonly state: 'refused'; readonly by: 'console' | 'broker'; readonly why: string }

export interface ConnectionHealth {
  readonly feed: FeedEvent | undefined
  readonly status: Status
  readonly frozenUntil: number | undefined
  /** When the last statistics were sampled. The page's machine may have slept since then. */
  readonly sampledAt?: number | undefined
  /** Why an attached store is not active, or a node does not answer. */
  readonly why?: string | undefined
}

/** Derives the health. `before` provides the start of the current state. */
export function healthOf(
  { feed, status, frozenUntil, sampledAt, why: absence }: ConnectionHealth,
  before: Health,
  now: number,
): Health {
  if (feed?.type === 'refused') return { state: 'refused', by: 'console', why: feed.cause.message }
  if (frozenUntil !== undefined && frozenUntil > now && feed?.type !== 'lost') {
    return { state: 'frozen', since: 'since' in before ? before.since : now, until: frozenUntil }
  }
  const refusal = feed?.type !== 'lost' && 'cause' in status ? status.cause : undefined
  if (refusal?.code === 'connection-refused') return { state: 'refused', by: 'broker', why: refusal.message }
  const why = findProblem(feed, status, absence)
  if (why !== undefined) {
    return before.state === 'connecting' || before.state === 'refused'
      ? { state: 'connecting', why }
      : { state: 'stale', since: 'since' in before ? before.since : (sampledAt ?? now), why }
  }
  if (feed === undefined || status.state === 'connecting')
    return before.state === 'stale' || before.state === 'refused' ? before : { state: 'connecting' }
  return { state: 'live' }
}

function findProblem(feed: FeedEvent | undefined, status: Status, absence: string | undefined): string | undefined {
  if (feed?.type === 'lost') return describeError(feed.cause).title
  if (absence !== undefined) return absence
  if (status.state === 'reconnecting') return 'No response from the store'
  return status.state === 'closed' ? (status.cause?.message ?? 'Connection closed') : undefined
}

export const watchHealth = (
  feed$: Observable<FeedEvent>,
  status$: Observable<Status>,
  pulse$: Observable<StatsSample | undefined>,
  now: () => number,
): Observable<Health> => {
  return combineLatest([feed$.pipe(startWith(undefined)), status$, pulse$]).pipe(
    scan<readonly [FeedEvent | undefined, Status, StatsSample | undefined], Health>(
      (before, [feed, status, pulse]) =>
        healthOf(
          { feed, status, frozenUntil: pulse?.frozenUntil, sampledAt: pulse?.at, why: absenceOf(pulse) },
          before,
          now(),
        ),
      { state: 'connecting' },
    ),
    distinctUntilChanged(sameHealth),
  )
}

const absenceOf = (pulse: StatsSample | undefined): string | undefined =>
  pulse?.isWaitingForLog ? 'The node cannot reach its log' : pulse?.attached?.why

const sameHealth = (a: Health, b: Health): boolean => JSON.stringify(a) === JSON.stringify(b)
