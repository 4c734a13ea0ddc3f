import type { WatchState } from './watch-state.js'

/**
 * Whether the value of a watched key is current: `connecting` before the first read, `live`, `stale` since the connection
 * was lost (`since`, ms since the Unix epoch), or `resyncing` while it is read again after a reconnect.
 */
export type Freshness =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'stale'; readonly since: number }
  | { readonly state: 'resyncing' }

const CONNECTING: Freshness = { state: 'connecting' }
const LIVE: Freshness = { state: 'live' }
const RESYNCING: Freshness = { state: 'resyncing' }

/** Returns a watch's freshness. @param lostAt - time when the connection was lost, ms since the Unix epoch */
export function freshnessOf({ phase, isSynced, isKnown }: WatchState, lostAt: number): Freshness {
  if (isSynced) return LIVE
  if (!isKnown) return CONNECTING
  return phase === 'offline' ? { state: 'stale', since: lostAt } : RESYNCING
}

/** Returns the final freshness of a watch that has ended. */
export const endedFreshness = ({ isKnown }: WatchState, lostAt: number): Freshness =>
  isKnown ? { state: 'stale', since: lostAt } : CONNECTING
