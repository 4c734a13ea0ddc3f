import type { Session } from '../session/session.js'

/** What one owner has of those who are away. */
interface Share {
  /** Those who are away longest come first. */
  readonly sessions: Set<Session>
  /** Those of them with a last will that waits. */
  readonly mortals: Set<Session>
  willBytes: number
}

/**
 * Whose the sessions are whose clients are away, so that whoever has most of them makes room: nobody ends the sessions of
 * others by many of its own.
 *
 * @example
 * ```ts
 * shares.add(session, 0)
 * if (crowded) end(shares.longestOfMost('sessions'))
 * ```
 */
export class AwayShares {
  readonly #shares = new Map<string, Share>()

  /** @param willBytes - what its last will counts, bytes; 0 for one without */
  add(session: Session, willBytes: number): void {
    const owner = session.owner
    const share = this.#shares.get(owner) ?? { sessions: new Set(), mortals: new Set(), willBytes: 0 }
    this.#shares.set(owner, share)
    share.sessions.add(session)
    if (willBytes === 0) return
    share.mortals.add(session)
    share.willBytes += willBytes
  }

  /** Its last will waits no more. @param willBytes - as when it was added */
  dropWill(session: Session, willBytes: number): void {
    const share = this.#shares.get(session.owner)
    if (share?.mortals.delete(session)) share.willBytes -= willBytes
  }

  /** It is away no more, and has no last will that waits. */
  delete(session: Session): void {
    const owner = session.owner
    const share = this.#shares.get(owner)
    share?.sessions.delete(session)
    if (share?.sessions.size === 0) this.#shares.delete(owner)
  }

  /** Of the owner with most sessions, or most bytes of last wills, the one that is away longest, or has a will and is. */
  longestOfMost(what: 'sessions' | 'wills'): Session | undefined {
    let [most, found]: [number, Share | undefined] = [0, undefined]
    for (const share of this.#shares.values()) {
      const size = what === 'sessions' ? share.sessions.size : share.willBytes
      if (size > most) [most, found] = [size, share]
    }
    const [longest] = (what === 'sessions' ? found?.sessions : found?.mortals) ?? []
    return longest
  }
}
