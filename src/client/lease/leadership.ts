import { distinctUntilChanged, map, type Observable, startWith } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { StateStore } from '../connect/client.js'
import { lease } from './lease.js'
import type { LeaseOptions } from './lease-options.js'
import type { LeaseState } from './lease-state.js'

/** Whether we lead. */
export type Leadership =
  | {
      readonly role: 'leader'
      /** Who leads: we, by the holder's name of the lease. */
      readonly leader: string
      /** For what only the leader may write; see {@link fenced}. */
      readonly token: Hlc
    }
  | {
      readonly role: 'follower'
      /** Missing while no leader is known. */
      readonly leader: string | undefined
    }

/**
 * Election of one leader among all who call this with the same name: says who leads whenever that changes, us or others.
 * Follows first, and leads as soon as no other member does. Unsubscribing, or closing the client, hands over at once; a
 * leader that dies is followed when its lease has run out. Never ends because of a lost connection; errors as the lease.
 *
 * Two never believe to lead at the same time longer than their clocks drift apart in `duration`; what that means is in
 * docs/locking.md.
 *
 * @example
 * ```ts
 * leadership(store, 'pump-station', { duration: 5_000 })
 *   .pipe(switchMap(state => (state.role === 'leader' ? control$(state.token) : NEVER)))
 *   .subscribe()
 * ```
 */
export const leadership = (
  store: StateStore,
  name: string | Uint8Array,
  options: LeaseOptions,
): Observable<Leadership> =>
  lease(store, name, options).pipe(map(leadershipOf), startWith(UNKNOWN), distinctUntilChanged(isSame))

const UNKNOWN: Leadership = { role: 'follower', leader: undefined }

function leadershipOf(state: LeaseState): Leadership {
  if (state.status === 'held') return { role: 'leader', leader: state.holder, token: state.token }
  return { role: 'follower', leader: state.status === 'waiting' ? state.holder : undefined }
}

function isSame(before: Leadership, after: Leadership): boolean {
  if (before.role === 'leader' && after.role === 'leader') return before.token === after.token
  return before.role === after.role && before.leader === after.leader
}
