import { isWellFormed } from '../../bytes.js'
import { isGroupName } from './names.js'

/** Who a connection is and what it may do. */
export interface Identity {
  /** Missing for an anonymous connection. */
  readonly userId?: string | undefined
  /** Such as `webpubsub.sendToGroup.chat`; see the table at `Permissions`. Default none: events only. */
  readonly roles?: readonly string[] | undefined
  /** Groups joined from the start; that needs no role. Default none. */
  readonly groups?: readonly string[] | undefined
}

/** What a client shows to get its session back. */
export interface Claim {
  readonly connectionId: string
  readonly token: string
}

/** Most groups one connection is in. */
export const MOST_GROUPS = 1_000

/** What is wrong with an identity, if anything is. */
export function identityProblem({ userId = '', roles = [], groups = [] }: Identity): string | undefined {
  if (typeof userId !== 'string' || !isWellFormed(userId)) return 'the user id must be a string of whole characters'
  if (!Array.isArray(roles) || !Array.isArray(groups)) return 'roles and groups must be arrays'
  if (!roles.every(role => typeof role === 'string')) return 'roles must be strings'
  if (groups.length > MOST_GROUPS) return `a connection can be in ${MOST_GROUPS} groups, not in ${groups.length}`
  return groups.every(isGroupName) ? undefined : 'a group must have a name of 1 to 1024 characters that is not blank'
}
