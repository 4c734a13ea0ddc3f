import { isWellFormed } from '../../core/util/bytes.js'
import { isName, MAX_NAME_LENGTH } from '../wire/rules.js'

/** Identity and rights of a connection. */
export interface Identity {
  /** Undefined for an anonymous connection. */
  readonly userId?: string | undefined
  /** Such as `webpubsub.sendToGroup.chat`; see the table at `Permissions`. Default none: may only send events. */
  readonly roles?: readonly string[] | undefined
  /** Groups joined from the start; no role is needed. Default none. */
  readonly groups?: readonly string[] | undefined
}

/** An identity, and the owner charged for the session's memory; default: the session itself. */
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
  /** Owner of the session's memory quota: its user, or its address if it has no user id. */
  readonly owner: string
  /** Such as `json.reliable.webpubsub.azure.v1`. */
  readonly subprotocol: string
  /** Names of the groups it is a member of. */
  readonly groups: readonly string[]
  /** Whether the client is connected; otherwise messages are kept until it reconnects. */
  readonly attached: boolean
}

/**
 * Why a session ended. `client`: closed by the client; `hub`: closed by the application; `expired`: the client did not
 * reconnect in time; `overflow`: too much unacknowledged data; `violation`: the client violated the protocol;
 * `shutdown`: the server closed.
 */
export type EndReason = 'client' | 'hub' | 'expired' | 'overflow' | 'violation' | 'shutdown'
