import { GroupPattern } from './group-pattern.js'
import type { Connection } from './identity.js'

/** What a connection may be allowed to do with groups. Events need no permission. */
export type Permission = 'joinLeaveGroup' | 'sendToGroup'

/** All of them. */
export const PERMISSIONS: readonly Permission[] = ['joinLeaveGroup', 'sendToGroup']

/** The roles that allow everything, for servers that trust their clients. */
export const ALL_ROLES: readonly string[] = PERMISSIONS.map(permission => `webpubsub.${permission}`)

/**
 * What one connection may do: the roles it came with, and what was granted and revoked since.
 *
 * | role | grants |
 * | --- | --- |
 * | `webpubsub.joinLeaveGroup`, `webpubsub.sendToGroup` | any group |
 * | `webpubsub.joinLeaveGroup.<group>`, `webpubsub.sendToGroup.<group>` | that group |
 * | `webpubsub.joinLeaveGroups.<pattern>`, `webpubsub.sendToGroups.<pattern>` | see {@link GroupPattern} |
 *
 * Any other role, or one with an invalid pattern, grants nothing. (Azure documentation, "Permissions".)
 */
export class Permissions {
  readonly #grants: Record<Permission, Grants> = { joinLeaveGroup: new Grants(), sendToGroup: new Grants() }

  constructor(roles: readonly string[] = []) {
    for (const role of roles) for (const permission of PERMISSIONS) this.#add(permission, role)
  }

  allows(permission: Permission, group: string): boolean {
    return this.#grants[permission].cover(group)
  }

  /** Allows it for one group, or without a group for all. */
  grant(permission: Permission, group?: string): void {
    const grants = this.#grants[permission]
    if (group === undefined) grants.all = true
    else grants.groups.add(group)
  }

  /** Takes back what was granted for this very group; without a group everything, also what came by roles. */
  revoke(permission: Permission, group?: string): void {
    if (group === undefined) this.#grants[permission] = new Grants()
    else this.#grants[permission].groups.delete(group)
  }

  #add(permission: Permission, role: string): void {
    const name = `webpubsub.${permission}`
    if (role === name) this.grant(permission)
    else if (role.startsWith(`${name}.`)) this.grant(permission, role.slice(name.length + 1))
    else if (role.startsWith(`${name}s.`)) this.#grants[permission].addPattern(role.slice(name.length + 2))
  }
}

class Grants {
  all = false
  readonly groups = new Set<string>()
  readonly #patterns: GroupPattern[] = []

  addPattern(text: string): void {
    const pattern = GroupPattern.parse(text)
    if (pattern) this.#patterns.push(pattern)
  }

  cover(group: string): boolean {
    return this.all || this.groups.has(group) || this.#patterns.some(pattern => pattern.matches(group))
  }
}

/** What a client asks for with a group. */
export type GroupAction = 'join' | 'leave' | 'send'

/** The permission that allows it. */
export const PERMISSION_FOR: Record<GroupAction, Permission> = {
  join: 'joinLeaveGroup',
  leave: 'joinLeaveGroup',
  send: 'sendToGroup',
}

/**
 * Decides what clients may do with some groups: `false` refuses, whatever other guards say; `true` allows,
 * whatever the permissions of the connection say; `undefined` leaves it to the others. A guard that raises an error refuses.
 */
export type GroupGuard = (connection: Connection, action: GroupAction, group: string) => boolean | undefined

/** The guards of a hub. All are asked until one refuses: no guard can allow what another refuses. */
export class GroupGuards {
  readonly #guards = new Set<{ readonly decide: GroupGuard }>()

  /** Adds a guard; the returned function takes it away. */
  add(decide: GroupGuard): () => void {
    const guard = { decide }
    this.#guards.add(guard)
    return () => this.#guards.delete(guard)
  }

  decide(connection: Connection, action: GroupAction, group: string): boolean | undefined {
    let isAllowed: true | undefined
    for (const { decide } of this.#guards) {
      try {
        const decision = decide(connection, action, group)
        // A promise, which JavaScript may return, is not a permission.
        if (decision !== undefined && decision !== true) return false
        isAllowed ??= decision
      } catch {
        // A guard that fails to allow something does not allow it.
        return false
      }
    }
    return isAllowed
  }
}
