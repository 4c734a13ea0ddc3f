import type { Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import { willSize } from '../session/connect-handler.js'
import type { Host } from '../session/connection-host.js'
import type { Session } from '../session/session.js'

/** A session whose client is away. */
interface Absence {
  readonly expiry: Deadline<() => void>
  /** To be published unless the client comes back in time (MQTT 5.0, section 3.1.3.2.2). */
  readonly will: { readonly client: Client; readonly message: Will; readonly due: Deadline<() => void> } | undefined
}

/** What becomes of those who stay away. */
export interface AbsencesHost extends Pick<Host<never>, 'clock' | 'timeouts' | 'budget'> {
  /** Ends a session. */
  end(session: Session): void
  /** Publishes a last will. */
  bequeath(client: Client, session: Session, will: Will): void
}

/** Of the memory of all clients: what is kept for those who are away must not keep others from coming. */
const WILL_SHARE = 1 / 8

/**
 * Sessions whose clients are away, each until it expires, with the last wills that wait for their time. When there are too
 * many, or too much of wills, those end that have been away longest, of whoever has most: wills are published then.
 */
export class OfflineSessions {
  readonly #host: AbsencesHost
  readonly #absences = new Map<Session, Absence>()
  readonly #shares = new OfflineUsageByOwner()
  /** Last wills that wait, and the room there is for them, bytes. */
  #willBytes = 0
  readonly #mostWillBytes: number

  /** @param memoryBudget - what all clients together may have waiting, bytes */
  constructor(host: AbsencesHost, memoryBudget: number) {
    this.#host = host
    this.#mostWillBytes = memoryBudget * WILL_SHARE
  }

  /** A client goes, and its session stays. @param delay - until its last will is published, ms */
  begin(client: Client, session: Session, will: Will | undefined, delay: number): void {
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    const expiry = timeouts.add(now + 1000 * session.expiry, () => this.#host.end(session))
    const due = will && delay > 0 ? timeouts.add(now + delay, () => this.publishWill(session)) : undefined
    this.#absences.set(session, { expiry, will: will && due && { client, message: will, due } })
    const bytes = will && due ? willSize(will) : 0
    this.#willBytes += bytes
    this.#shares.add(session, bytes)
    this.#bound()
  }

  /** The client is back, or its session has ended: its last will is not published. */
  forget(session: Session): void {
    const absence = this.#absences.get(session)
    if (absence === undefined) return
    this.#absences.delete(session)
    this.#host.timeouts.remove(absence.expiry)
    this.#forgetWill(session, absence)
    this.#shares.delete(session)
  }

  /** Publishes the last will of a client that is away, now: its delay is over, or the session. */
  publishWill(session: Session): void {
    const absence = this.#absences.get(session)
    const will = absence?.will
    if (absence === undefined || will === undefined) return
    this.#forgetWill(session, absence)
    this.#absences.set(session, { expiry: absence.expiry, will: undefined })
    this.#host.bequeath(will.client, session, will.message)
  }

  #forgetWill(session: Session, { will }: Absence): void {
    if (will === undefined) return
    this.#host.timeouts.remove(will.due)
    const bytes = willSize(will.message)
    this.#willBytes -= bytes
    this.#shares.dropWill(session, bytes)
    this.#host.budget.give(bytes)
  }

  /** Those make room who have most. */
  #bound(): void {
    while (this.#absences.size > LIMIT.offlineSessions) if (!this.#endOne('sessions')) return
    while (this.#willBytes > this.#mostWillBytes) if (!this.#endOne('wills')) return
  }

  #endOne(of: 'sessions' | 'wills'): boolean {
    const session = this.#shares.longestOfMost(of)
    if (session === undefined) return false
    this.#host.end(session)
    return !this.#absences.has(session)
  }
}

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
export class OfflineUsageByOwner {
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
