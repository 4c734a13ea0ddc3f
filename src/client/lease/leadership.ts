import { distinctUntilChanged, map, type Observable, startWith } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { StateStore } from '../connect/client.js'
import { lease } from './lease.js'
import type { LeaseOptions } from './lease-options.js'
import type { LeaseState } from './lease-state.js'

/** This member's role, and the current leader. */
export type Leadership =
  | {
      readonly role: 'leader'
      /** Holder name of this member's lease. */
      readonly leader: string
      /** Fencing token for the leader's writes; see {@link fenced}. */
      readonly token: Hlc
    }
  | {
      readonly role: 'follower'
      /** Missing while no leader is known. */
      readonly leader: string | undefined
    }

/**
 * Elects one leader among all subscribers with the same name. Emits the role of this member and the current leader
 * after every change. A member starts as a follower, and leads once no other member leads. Unsubscribing or closing the
 * client hands over immediately; a leader that crashes is replaced when its lease expires. A lost connection does not
 * end the stream, which errors as the lease does.
 *
 * Two members never both act as leader for longer than their clocks drift apart within `duration`; see docs/locking.md.
 *
 * @example
 * ```ts
 * leadership(store, 'pump-station', { duration: 5_000 })
 *   .pipe(
 *     switchMap(state =>
 *       state.role === 'leader' ? control$(state.token) : NEVER,
 *     ),
 *   )
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
