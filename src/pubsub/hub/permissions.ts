import type { Connection } from './identity.js'

/** A permission for groups. Events need no permission. */
export type Permission = 'joinLeaveGroup' | 'sendToGroup'

export const PERMISSIONS: readonly Permission[] = ['joinLeaveGroup', 'sendToGroup']

/** The roles with full access, for servers that trust their clients. */
export const ALL_ROLES: readonly string[] = PERMISSIONS.map(permission => `webpubsub.${permission}`)

/**
 * The rights of one connection: its initial roles, and later grants and revocations.
 *
 * | role | grants |
 * | --- | --- |
 * | `webpubsub.joinLeaveGroup`, `webpubsub.sendToGroup` | any group |
 * | `webpubsub.joinLeaveGroup.<group>`, `webpubsub.sendToGroup.<group>` | that group |
 * | `webpubsub.joinLeaveGroups.<pattern>`, `webpubsub.sendToGroups.<pattern>` | see {@link GroupPattern} |
 *
 * Any other role, and a role with an invalid pattern, grants nothing. (Azure documentation, "Permissions".)
 */
export class Permissions {
  readonly #grants: Record<Permission, Grants> = { joinLeaveGroup: new Grants(), sendToGroup: new Grants() }

  constructor(roles: readonly string[] = []) {
    for (const role of roles) for (const permission of PERMISSIONS) this.#add(permission, role)
  }

  allows(permission: Permission, group: string): boolean {
    return this.#grants[permission].includes(group)
  }

  /** Grants a permission for one group, or for all groups if none is given. */
  grant(permission: Permission, group?: string): void {
    const grants = this.#grants[permission]
    if (group === undefined) grants.allGroups = true
    else grants.groups.add(group)
  }

  /**
   * Revokes a permission granted for exactly this group. Without a group, revokes all grants of the permission,
   * including those by roles.
   */
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
  allGroups = false
  readonly groups = new Set<string>()
  readonly #patterns: GroupPattern[] = []

  addPattern(text: string): void {
    const pattern = GroupPattern.parse(text)
    if (pattern) this.#patterns.push(pattern)
  }

  includes(group: string): boolean {
    return this.allGroups || this.groups.has(group) || this.#patterns.some(pattern => pattern.matches(group))
  }
}

/** An action on a group, which a client needs a role for. */
export type GroupAction = 'join' | 'leave' | 'send'

export const PERMISSION_FOR: Record<GroupAction, Permission> = {
  join: 'joinLeaveGroup',
  leave: 'joinLeaveGroup',
  send: 'sendToGroup',
}

/**
 * Decides what clients may do with groups. `false` denies an action regardless of other guards. `true` allows an action
 * regardless of the connection's permissions. `undefined` abstains. A guard that throws denies the action.
 */
export type GroupGuard = (connection: Connection, action: GroupAction, group: string) => boolean | undefined

/** A hub's guards. All guards are called until a guard denies, so no guard can override another guard's denial. */
export class GroupGuards {
  readonly #guards = new Set<{ readonly decide: GroupGuard }>()

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
        // An untyped caller may return a promise, which is not a permission.
        if (decision !== undefined && decision !== true) return false
        isAllowed ??= decision
      } catch {
        return false
      }
    }
    return isAllowed
  }
}

/** The maximum number of stars in a valid pattern. `**` counts as two. */
const MAX_STARS = 5

// A pattern token is the code point of a literal character or one of these constants.
const ONE_CHARACTER = -1
const RUN_WITHOUT_DOT = -2
const ANY_RUN = -3
const DOT = 0x2e

/**
 * A pattern of group names: `?` matches one character except `.`, `*` matches a run without `.`, `**` matches any run,
 * and `\` escapes `\`, `*` and `?`. Matching takes at most (characters of the name) x (characters of the pattern)
 * steps. (Azure documentation, "Use wildcard group role patterns".)
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

  /** Returns `undefined` for an empty pattern, and for a pattern with more than five stars or an unfinished escape. */
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
        const isDouble = next === '*'
        tokens.push(isDouble ? ANY_RUN : RUN_WITHOUT_DOT)
        stars += isDouble ? 2 : 1
        if (isDouble) at++
      } else {
        tokens.push(character === '?' ? ONE_CHARACTER : codeOf(character))
      }
    }
    return tokens.length === 0 || stars > MAX_STARS ? undefined : new GroupPattern(tokens)
  }

  matches(name: string): boolean {
    const tokens = this.#tokens
    // `reached[i]` means that the first i tokens match the characters read. All states advance in parallel, without
    // backtracking.
    const reached = new Uint8Array(tokens.length + 1)
    reached[0] = 1
    this.#skipStars(reached)
    for (const character of name) {
      const code = codeOf(character)
      for (let i = tokens.length; i >= 0; i--) {
        const advanced = i > 0 && reached[i - 1] === 1 && advancesOn(tokens[i - 1], code)
        const stayed = reached[i] === 1 && staysOn(tokens[i], code)
        reached[i] = advanced || stayed ? 1 : 0
      }
      this.#skipStars(reached)
    }
    return reached[tokens.length] === 1
  }

  /** Advances past stars, because a star may match an empty run. */
  #skipStars(reached: Uint8Array): void {
    for (const [i, token] of this.#tokens.entries()) {
      if (reached[i] === 1 && (token === RUN_WITHOUT_DOT || token === ANY_RUN)) reached[i + 1] = 1
    }
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0

const advancesOn = (token: number | undefined, code: number): boolean =>
  token === code || (token === ONE_CHARACTER && code !== DOT)

const staysOn = (token: number | undefined, code: number): boolean =>
  token === ANY_RUN || (token === RUN_WITHOUT_DOT && code !== DOT)
