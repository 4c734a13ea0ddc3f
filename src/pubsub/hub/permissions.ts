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

/** More stars than this make a pattern invalid; those of `**` count twice. */
const MOST_STARS = 5

// What a pattern consists of: code points of literal characters, and these.
const ONE = -1
const RUN = -2
const ANY = -3
const DOT = 0x2e

/**
 * A pattern of group names: `?` is one character but `.`, `*` a run without `.`, `**` any run, `\` escapes `\`, `*` and
 * `?`. Matching takes at most (characters of the name) x (characters of the pattern) steps, whatever they are.
 * (Azure documentation, "Use wildcard group role patterns".)
 *
 * @example
 * ```ts
 * GroupPattern.parse('rooms.*')?.matches('rooms.kitchen') // true
 * ```
 */
export class GroupPattern {
  readonly #tokens: readonly number[]

  private constructor(tokens: readonly number[]) {
    this.#tokens = tokens
  }

  /** `undefined` for an empty pattern, one with more than five stars, and one that ends in the middle of an escape. */
  static parse(pattern: string): GroupPattern | undefined {
    const tokens: number[] = []
    const characters = Array.from(pattern)
    let stars = 0
    for (let at = 0; at < characters.length; at++) {
      const character = characters[at] ?? ''
      const next = characters[at + 1]
      if (character === '\\') {
        if (next === undefined) return undefined
        const escapes = next === '\\' || next === '*' || next === '?'
        tokens.push(codeOf(escapes ? next : character))
        if (escapes) at++
      } else if (character === '*') {
        const double = next === '*'
        tokens.push(double ? ANY : RUN)
        stars += double ? 2 : 1
        if (double) at++
      } else {
        tokens.push(character === '?' ? ONE : codeOf(character))
      }
    }
    return tokens.length === 0 || stars > MOST_STARS ? undefined : new GroupPattern(tokens)
  }

  /** Whether the whole name matches. */
  matches(name: string): boolean {
    const tokens = this.#tokens
    // reached[i]: the first i tokens match what has been read. All of them are followed at once: nothing is tried twice.
    const reached = new Uint8Array(tokens.length + 1)
    reached[0] = 1
    this.#skipStars(reached)
    for (const character of name) {
      const code = codeOf(character)
      for (let i = tokens.length; i >= 0; i--) {
        const advanced = i > 0 && reached[i - 1] === 1 && takes(tokens[i - 1], code)
        const stayed = reached[i] === 1 && staysAt(tokens[i], code)
        reached[i] = advanced || stayed ? 1 : 0
      }
      this.#skipStars(reached)
    }
    return reached[tokens.length] === 1
  }

  /** A star may stand for nothing. */
  #skipStars(reached: Uint8Array): void {
    for (const [i, token] of this.#tokens.entries()) {
      if (reached[i] === 1 && (token === RUN || token === ANY)) reached[i + 1] = 1
    }
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0

const takes = (token: number | undefined, code: number): boolean => token === code || (token === ONE && code !== DOT)

const staysAt = (token: number | undefined, code: number): boolean => token === ANY || (token === RUN && code !== DOT)
