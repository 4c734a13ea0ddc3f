/** The lease of the leader. */
export const STATION = 'pump-station'
/** What only the leader may write. */
export const SPEED = 'pump-station\\speed'
/** ms: how long a leader that is not heard of is waited for. */
export const LEASE = { duration: 1_500 }

/**
 * What a member tells about its role.
 *
 * @typedef {{ role: 'leader', token: string } | { role: 'follower', leader?: string | undefined }} News
 */

/** @typedef {{ by: string, rpm: number }} Speed */
