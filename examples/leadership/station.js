/** Name of the leader's lease. */
export const STATION = 'pump-station'
/** The key that only the leader may write. */
export const SPEED = 'pump-station\\speed'
/** Options of the lease. The lease of a dead leader expires after `duration`, ms. */
export const LEASE = { duration: 1_500 }

/**
 * The role that a member reports.
 *
 * @typedef {{ role: 'leader', token: string } | { role: 'follower', leader?: string | undefined }} RoleReport
 */

/** @typedef {{ by: string, rpm: number }} Speed */
