import { isWellFormed } from '../../core/util/bytes.js'
import { isName, MAX_NAME_LENGTH } from '../wire/rules.js'

/** The identity and rights of a connection. */
export interface Identity {
  /** The user id, or `undefined` for an anonymous connection. */
  readonly userId?: string | undefined
  /**
   * The roles, such as `webpubsub.sendToGroup.chat` (see the table at `Permissions`). Default: none, so that the client
   * may only send events.
   */
  readonly roles?: readonly string[] | undefined
  /** The groups that the connection joins when it begins, for which it needs no role. Default: none. */
  readonly groups?: readonly string[] | undefined
}

/** An identity with the owner to charge for the session's memory. Default: the session itself. */
export interface OwnedIdentity extends Identity {
  readonly owner?: string | undefined
}

export interface SessionClaim {
  readonly connectionId: string
  readonly token: string
}

export const MAX_GROUPS = 1_000

export function identityProblem({ userId = '', roles = [], groups = [] }: Identity): string | undefined {
  if (typeof userId !== 'string' || !isWellFormed(userId)) return 'the user id must be a well-formed string'
  if (!Array.isArray(roles) || !Array.isArray(groups)) return 'roles and groups must be arrays'
  if (!roles.every(role => typeof role === 'string')) return 'roles must be strings'
  if (groups.length > MAX_GROUPS) return `a connection can be in at most ${MAX_GROUPS} groups, not ${groups.length}`
  return groups.every(isName) ? undefined : `a group must have a name of 1 to ${MAX_NAME_LENGTH} characters, not blank`
}

/** A client's session at a hub, which survives lost network connections. */
export interface Connection {
  readonly connectionId: string
  readonly userId: string | undefined
  /** The owner of the session's memory quota: the user, or the address if the session has no user id. */
  readonly owner: string
  /** The subprotocol, such as `json.reliable.webpubsub.azure.v1`. */
  readonly subprotocol: string
  /** The names of the groups of which the session is a member. */
  readonly groups: readonly string[]
  /** Whether the client is connected. If it is not, messages are kept until it reconnects. */
  readonly attached: boolean
}

/**
 * The reason why a session ended. `client`: the client closed it. `hub`: the application closed it. `expired`: the
 * client did not reconnect in time. `overflow`: there was too much unacknowledged data. `violation`: the client
 * violated the protocol. `shutdown`: the server closed.
 */
export type EndReason = 'client' | 'hub' | 'expired' | 'overflow' | 'violation' | 'shutdown'
