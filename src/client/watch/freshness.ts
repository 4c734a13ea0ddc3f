import type { WatchState } from './watch-state.js'

/**
 * Whether the value of a watched key can be relied on: not read yet, current, current until the connection was lost
 * (`since`, ms since the Unix epoch), or being read again after a reconnect.
 */
export type Freshness =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'stale'; readonly since: number }
  | { readonly state: 'resyncing' }

const CONNECTING: Freshness = { state: 'connecting' }
const LIVE: Freshness = { state: 'live' }
const RESYNCING: Freshness = { state: 'resyncing' }

/** Freshness of a watch, given when its connection was lost. */
export function freshnessOf({ phase, synced, known }: WatchState, lostAt: number): Freshness {
  if (synced) return LIVE
  if (!known) return CONNECTING
  return phase === 'offline' ? { state: 'stale', since: lostAt } : RESYNCING
}

/** Freshness of a watch that has ended: nothing will come any more. */
export const endedFreshness = ({ known }: WatchState, lostAt: number): Freshness =>
  known ? { state: 'stale', since: lostAt } : CONNECTING
