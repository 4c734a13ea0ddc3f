import type { Session } from './session.js'

/** As many are kept; then those go that have been waiting longest. */
export const MOST_SESSIONS = 10_000

/** What waits for clients that are not connected and may come back. */
export class OfflineSessions {
  readonly #sessions = new Map<string, Session>()

  /** Keeps a session, unless there is nothing in it. */
  put(clientId: string, session: Session): void {
    this.#sessions.delete(clientId)
    if (session.kept === 0) return
    this.#sessions.set(clientId, session)
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= MOST_SESSIONS) return
      this.#sessions.delete(oldest)
    }
  }

  /** The session of a client that is back, if there is one. */
  take(clientId: string): Session | undefined {
    const session = this.#sessions.get(clientId)
    this.#sessions.delete(clientId)
    return session
  }
}
