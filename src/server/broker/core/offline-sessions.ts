import type { Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import { willSize } from '../session/connect-handler.js'
import type { ConnectionHost } from '../session/connection-host.js'
import type { Session } from '../session/session.js'

/** A session whose client is away. */
interface OfflineSession {
  readonly expiry: Deadline<() => void>
  /** To be published unless the client comes back in time (MQTT 5.0, section 3.1.3.2.2). */
  readonly will:
    | { readonly client: Client; readonly message: Will; readonly deadline: Deadline<() => void> }
    | undefined
}

/** What becomes of those who stay away. */
export interface OfflineSessionsHost extends Pick<ConnectionHost<never>, 'clock' | 'timeouts' | 'budget'> {
  /** Ends a session. */
  end(session: Session): void
  /** Publishes a last will. */
  scheduleWill(client: Client, session: Session, will: Will): void
}

/** Of the memory of all clients: what is kept for those who are away must not keep others from coming. */
const WILL_BUDGET_SHARE = 1 / 8

/**
 * Sessions whose clients are away, each until it expires, with the last wills that wait for their time. When there are too
 * many, or too much of wills, those end that have been away longest, of whoever has most: wills are published then.
 */
export class OfflineSessions {
  readonly #host: OfflineSessionsHost
  readonly #offline = new Map<Session, OfflineSession>()
  readonly #usageByOwner = new OfflineUsageByOwner()
  /** Last wills that wait, and the room there is for them, bytes. */
  #willBytes = 0
  readonly #maxWillBytes: number

  /** @param memoryBudget - what all clients together may have waiting, bytes */
  constructor(host: OfflineSessionsHost, memoryBudget: number) {
    this.#host = host
    this.#maxWillBytes = memoryBudget * WILL_BUDGET_SHARE
  }

  /** A client goes, and its session stays. @param delayMs - until its last will is published, ms */
  add(client: Client, session: Session, will: Will | undefined, delayMs: number): void {
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    const expiry = timeouts.add(now + 1000 * session.expirySeconds, () => this.#host.end(session))
    const deadline = will && delayMs > 0 ? timeouts.add(now + delayMs, () => this.publishWill(session)) : undefined
    this.#offline.set(session, { expiry, will: will && deadline && { client, message: will, deadline } })
    const bytes = will && deadline ? willSize(will) : 0
    this.#willBytes += bytes
    this.#usageByOwner.add(session, bytes)
    this.#enforceLimits()
  }

  /** The client is back, or its session has ended: its last will is not published. */
  remove(session: Session): void {
    const offline = this.#offline.get(session)
    if (offline === undefined) return
    this.#offline.delete(session)
    this.#host.timeouts.remove(offline.expiry)
    this.#removeWill(session, offline)
    this.#usageByOwner.delete(session)
  }

  /** Publishes the last will of a client that is away, now: its delay is over, or the session. */
  publishWill(session: Session): void {
    const offline = this.#offline.get(session)
    const will = offline?.will
    if (offline === undefined || will === undefined) return
    this.#removeWill(session, offline)
    this.#offline.set(session, { expiry: offline.expiry, will: undefined })
    this.#host.scheduleWill(will.client, session, will.message)
  }

  #removeWill(session: Session, { will }: OfflineSession): void {
    if (will === undefined) return
    this.#host.timeouts.remove(will.deadline)
    const bytes = willSize(will.message)
    this.#willBytes -= bytes
    this.#usageByOwner.dropWill(session, bytes)
    this.#host.budget.release(bytes)
  }

  /** Those make room who have most. */
  #enforceLimits(): void {
    while (this.#offline.size > LIMIT.offlineSessions) if (!this.#evictOne('sessions')) return
    while (this.#willBytes > this.#maxWillBytes) if (!this.#evictOne('wills')) return
  }

  #evictOne(resource: 'sessions' | 'wills'): boolean {
    const session = this.#usageByOwner.oldestOfLargestOwner(resource)
    if (session === undefined) return false
    this.#host.end(session)
    return !this.#offline.has(session)
  }
}

/** What one owner has of those who are away. */
interface OwnerUsage {
  /** Those who are away longest come first. */
  readonly sessions: Set<Session>
  /** Those of them with a last will that waits. */
  readonly sessionsWithWill: Set<Session>
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
  readonly #usage = new Map<string, OwnerUsage>()

  /** @param willBytes - what its last will counts, bytes; 0 for one without */
  add(session: Session, willBytes: number): void {
    const name = session.accountName
    const usage = this.#usage.get(name) ?? { sessions: new Set(), sessionsWithWill: new Set(), willBytes: 0 }
    this.#usage.set(name, usage)
    usage.sessions.add(session)
    if (willBytes === 0) return
    usage.sessionsWithWill.add(session)
    usage.willBytes += willBytes
  }

  /** Its last will waits no more. @param willBytes - as when it was added */
  dropWill(session: Session, willBytes: number): void {
    const usage = this.#usage.get(session.accountName)
    if (usage?.sessionsWithWill.delete(session)) usage.willBytes -= willBytes
  }

  /** It is away no more, and has no last will that waits. */
  delete(session: Session): void {
    const name = session.accountName
    const usage = this.#usage.get(name)
    usage?.sessions.delete(session)
    if (usage?.sessions.size === 0) this.#usage.delete(name)
  }

  /** Of the owner with most sessions, or most bytes of last wills, the one that is away longest, or has a will and is. */
  oldestOfLargestOwner(resource: 'sessions' | 'wills'): Session | undefined {
    let [largestSize, largest]: [number, OwnerUsage | undefined] = [0, undefined]
    for (const usage of this.#usage.values()) {
      const size = resource === 'sessions' ? usage.sessions.size : usage.willBytes
      if (size > largestSize) [largestSize, largest] = [size, usage]
    }
    const [oldest] = (resource === 'sessions' ? largest?.sessions : largest?.sessionsWithWill) ?? []
    return oldest
  }
}
