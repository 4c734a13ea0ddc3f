import { isWellFormed } from '../../core/util/bytes.js'
import { isName, LONGEST_NAME } from '../wire/rules.js'

/** Who a connection is and what it may do. */
export interface Identity {
  /** Missing for an anonymous connection. */
  readonly userId?: string | undefined
  /** Such as `webpubsub.sendToGroup.chat`; see the table at `Permissions`. Default none: events only. */
  readonly roles?: readonly string[] | undefined
  /** Groups joined from the start; that needs no role. Default none. */
  readonly groups?: readonly string[] | undefined
}

/** An identity, and who accounts for what its session makes the hub hold. Default for `owner` is the session alone. */
export interface OwnedIdentity extends Identity {
  readonly owner?: string | undefined
}

/** What a client presents to get its session back. */
export interface SessionClaim {
  readonly connectionId: string
  readonly token: string
}

/** Most groups that one connection can be in. */
export const MOST_GROUPS = 1_000

/** What is wrong with an identity, if anything. */
export function identityProblem({ userId = '', roles = [], groups = [] }: Identity): string | undefined {
  if (typeof userId !== 'string' || !isWellFormed(userId)) return 'the user id must be a string of whole characters'
  if (!Array.isArray(roles) || !Array.isArray(groups)) return 'roles and groups must be arrays'
  if (!roles.every(role => typeof role === 'string')) return 'roles must be strings'
  if (groups.length > MOST_GROUPS) return `a connection can be in ${MOST_GROUPS} groups, not in ${groups.length}`
  return groups.every(isName) ? undefined : `a group must have a name of 1 to ${LONGEST_NAME} characters, not blank`
}

/** A client's session at a hub, as the application sees it: it outlives network connections. */
export interface Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  /** Accounts for what is held for it: its user, or the address of a session without a user id. */
  readonly owner: string
  /** Name of the subprotocol it speaks. */
  readonly subprotocol: string
  /** Names of the groups it is in now. */
  readonly groups: readonly string[]
  /** Whether a network connection is there now; without one, messages wait for the client to come back. */
  readonly attached: boolean
}

/**
 * Why a session ended. `client`: the client closed it; `hub`: the application did; `expired`: the client did not come
 * back in time; `overflow`: it left too much unacknowledged; `violation`: it sent what is not allowed; `shutdown`: the
 * server closes.
 */
export type EndReason = 'client' | 'hub' | 'expired' | 'overflow' | 'violation' | 'shutdown'
