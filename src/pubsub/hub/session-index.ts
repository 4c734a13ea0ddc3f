import type { MemoryBudget } from '../../node/limits/memory-budget.js'
import type { HubSession } from './hub-session.js'
import { MAX_GROUPS } from './identity.js'

const MEMBERSHIP_OVERHEAD_BYTES = 400

/** Returns the approximate bytes of a membership, in which each session may hold a copy of the name. */
export const membershipBytes = (group: string): number => MEMBERSHIP_OVERHEAD_BYTES + 2 * group.length

export class SessionIndex {
  readonly #budget: MemoryBudget
  readonly #byId = new Map<string, HubSession>()
  readonly #all = new Set<HubSession>()
  readonly #byUser = new Multimap<HubSession>()
  readonly #byOwner = new Multimap<HubSession>()
  readonly #byGroup = new Multimap<HubSession>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get all(): ReadonlySet<HubSession> {
    return this.#all
  }

  get(connectionId: string): HubSession | undefined {
    return this.#byId.get(connectionId)
  }

  ofUser(userId: string): ReadonlySet<HubSession> {
    return this.#byUser.of(userId)
  }

  /** Returns the sessions of an owner (see {@link HubSession.owner}), oldest first. */
  ofOwner(owner: string): ReadonlySet<HubSession> {
    return this.#byOwner.of(owner)
  }

  ofGroup(group: string): ReadonlySet<HubSession> {
    return this.#byGroup.of(group)
  }

  add(session: HubSession): void {
    this.#byId.set(session.connectionId, session)
    this.#all.add(session)
    this.#byOwner.add(session.owner, session)
    if (session.userId !== undefined) this.#byUser.add(session.userId, session)
  }

  remove(session: HubSession): void {
    for (const group of session.groupNames) this.#byGroup.remove(group, session)
    this.#chargeMembership(session, -session.membershipBytes)
    this.#byOwner.remove(session.owner, session)
    if (session.userId !== undefined) this.#byUser.remove(session.userId, session)
    this.#all.delete(session)
    this.#byId.delete(session.connectionId)
  }

  /** Adds a session to a group. Returns `false` if the session is in too many groups. */
  join(session: HubSession, group: string): boolean {
    if (session.groupNames.has(group)) return true
    if (session.groupNames.size >= MAX_GROUPS) return false
    session.groupNames.add(group)
    this.#byGroup.add(group, session)
    this.#chargeMembership(session, membershipBytes(group))
    return true
  }

  leave(session: HubSession, group: string): void {
    if (session.groupNames.delete(group)) this.#chargeMembership(session, -membershipBytes(group))
    this.#byGroup.remove(group, session)
  }

  #chargeMembership(session: HubSession, bytes: number): void {
    session.membershipBytes += bytes
    this.#budget.adjustOwned(session.owner, bytes)
  }
}

class Multimap<T> {
  readonly #byName = new Map<string, Set<T>>()

  of(name: string): ReadonlySet<T> {
    return this.#byName.get(name) ?? NO_ITEMS
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

const NO_ITEMS: ReadonlySet<never> = new Set<never>()
