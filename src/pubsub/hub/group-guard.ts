import type { Connection } from './connection.js'
import type { Permission } from './permissions.js'

/** What a client asks for with a group. */
export type GroupAction = 'join' | 'leave' | 'send'

/** The permission that allows it. */
export const PERMISSION_FOR: Record<GroupAction, Permission> = {
  join: 'joinLeaveGroup',
  leave: 'joinLeaveGroup',
  send: 'sendToGroup',
}

/**
 * Decides what clients may do with some groups: `true` and `false` count whatever the permissions of the connection say,
 * `undefined` leaves it to them. A guard that raises an error refuses.
 */
export type GroupGuard = (connection: Connection, action: GroupAction, group: string) => boolean | undefined

/** The guards of a hub. The first that decides counts. */
export class GroupGuards {
  readonly #guards = new Set<{ readonly decide: GroupGuard }>()

  /** Adds a guard; the returned function takes it away. */
  add(decide: GroupGuard): () => void {
    const guard = { decide }
    this.#guards.add(guard)
    return () => this.#guards.delete(guard)
  }

  decide(connection: Connection, action: GroupAction, group: string): boolean | undefined {
    for (const { decide } of this.#guards) {
      try {
        const decision = decide(connection, action, group)
        // A promise, from JavaScript, is no permission.
        if (decision !== undefined) return decision === true
      } catch {
        // Whoever cannot tell that something is allowed does not allow it.
        return false
      }
    }
    return undefined
  }
}
