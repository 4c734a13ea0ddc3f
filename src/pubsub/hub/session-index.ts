import type { HubSession } from './hub-session.js'
import { MOST_GROUPS } from './identity.js'
import type { MemoryBudget } from './memory-budget.js'

/** Approximate bytes of a membership besides the group's name. */
const MEMBERSHIP_OVERHEAD = 400

/** Approximate bytes of a membership: each session may hold a copy of the name. */
export const membershipBytes = (group: string): number => MEMBERSHIP_OVERHEAD + 2 * group.length

/** The sessions of a hub by connection, user, owner and group. */
export class SessionIndex {
  readonly #budget: MemoryBudget
  readonly #sessions = new Map<string, HubSession>()
  readonly #everybody = new Set<HubSession>()
  readonly #users = new Members<HubSession>()
  readonly #owners = new Members<HubSession>()
  readonly #groups = new Members<HubSession>()

  /** @param budget - charged for memberships */
  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get all(): ReadonlySet<HubSession> {
    return this.#everybody
  }

  get(connectionId: string): HubSession | undefined {
    return this.#sessions.get(connectionId)
  }

  ofUser(userId: string): ReadonlySet<HubSession> {
    return this.#users.of(userId)
  }

  /** Returns sessions by {@link HubSession.owner}, oldest first. */
  ofOwner(owner: string): ReadonlySet<HubSession> {
    return this.#owners.of(owner)
  }

  ofGroup(group: string): ReadonlySet<HubSession> {
    return this.#groups.of(group)
  }

  add(session: HubSession): void {
    this.#sessions.set(session.connectionId, session)
    this.#everybody.add(session)
    this.#owners.add(session.owner, session)
    if (session.userId !== undefined) this.#users.add(session.userId, session)
  }

  remove(session: HubSession): void {
    for (const group of session.joined) this.#groups.remove(group, session)
    this.#hold(session, -session.membershipBytes)
    this.#owners.remove(session.owner, session)
    if (session.userId !== undefined) this.#users.remove(session.userId, session)
    this.#everybody.delete(session)
    this.#sessions.delete(session.connectionId)
  }

  /** Adds a session to a group. Returns `false` if it is in too many groups. */
  join(session: HubSession, group: string): boolean {
    if (session.joined.has(group)) return true
    if (session.joined.size >= MOST_GROUPS) return false
    session.joined.add(group)
    this.#groups.add(group, session)
    this.#hold(session, membershipBytes(group))
    return true
  }

  leave(session: HubSession, group: string): void {
    if (session.joined.delete(group)) this.#hold(session, -membershipBytes(group))
    this.#groups.remove(group, session)
  }

  #hold(session: HubSession, bytes: number): void {
    session.membershipBytes += bytes
    this.#budget.hold(session.owner, bytes)
  }
}

class Members<T> {
  readonly #byName = new Map<string, Set<T>>()

  /** Returns the items of a name in insertion order. */
  of(name: string): ReadonlySet<T> {
    return this.#byName.get(name) ?? NOBODY
  }

  add(name: string, item: T): void {
    const items = this.#byName.get(name)
    if (items) items.add(item)
    else this.#byName.set(name, new Set([item]))
  }

  remove(name: string, item: T): void {
    const items = this.#byName.get(name)
    items?.delete(item)
    if (items?.size === 0) this.#byName.delete(name)
  }
}

const NOBODY: ReadonlySet<never> = new Set<never>()
