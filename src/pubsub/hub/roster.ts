import { MOST_GROUPS } from './identity.js'
import { Members } from './members.js'
import type { Session } from './session.js'

/** The sessions of a hub, by connection, user and group. */
export class Roster {
  readonly #sessions = new Map<string, Session>()
  readonly #everybody = new Set<Session>()
  readonly #users = new Members<Session>()
  readonly #groups = new Members<Session>()

  get all(): ReadonlySet<Session> {
    return this.#everybody
  }

  get(connectionId: string): Session | undefined {
    return this.#sessions.get(connectionId)
  }

  ofUser(userId: string): ReadonlySet<Session> {
    return this.#users.of(userId)
  }

  ofGroup(group: string): ReadonlySet<Session> {
    return this.#groups.of(group)
  }

  add(session: Session): void {
    this.#sessions.set(session.connectionId, session)
    this.#everybody.add(session)
    if (session.userId !== undefined) this.#users.add(session.userId, session)
  }

  remove(session: Session): void {
    for (const group of session.joined) this.#groups.remove(group, session)
    if (session.userId !== undefined) this.#users.remove(session.userId, session)
    this.#everybody.delete(session)
    this.#sessions.delete(session.connectionId)
  }

  /** Makes it a member, if it is not in too many groups already. */
  join(session: Session, group: string): boolean {
    if (session.joined.has(group)) return true
    if (session.joined.size >= MOST_GROUPS) return false
    session.joined.add(group)
    this.#groups.add(group, session)
    return true
  }

  leave(session: Session, group: string): void {
    session.joined.delete(group)
    this.#groups.remove(group, session)
  }
}
