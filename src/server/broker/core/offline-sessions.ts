import type { Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import { willSize } from '../session/connect-handler.js'
import type { ConnectionHost } from '../session/connection-host.js'
import type { Session } from '../session/session.js'

interface OfflineSession {
  readonly expiry: Deadline<() => void>
  /** The will to publish unless the client reconnects before the deadline (MQTT 5.0, section 3.1.3.2.2). */
  readonly will:
    | { readonly client: Client; readonly message: Will; readonly deadline: Deadline<() => void> }
    | undefined
}

export interface OfflineSessionsHost extends Pick<ConnectionHost<never>, 'clock' | 'timeouts' | 'budget' | 'traffic'> {
  end(session: Session): void
  scheduleWill(client: Client, session: Session, will: Will): void
}

/** The share of the memory budget that pending wills may take, so that offline clients cannot block new connections. */
const WILL_BUDGET_SHARE = 1 / 8

/**
 * Keeps the sessions and pending wills of disconnected clients. When a limit is exceeded, the owner with the highest
 * usage loses its longest-offline session.
 */
export class OfflineSessions {
  readonly #host: OfflineSessionsHost
  readonly #offline = new Map<Session, OfflineSession>()
  readonly #usageByOwner = new OfflineUsageByOwner()
  #willBytes = 0
  readonly #maxWillBytes: number

  constructor(host: OfflineSessionsHost, memoryBudget: number) {
    this.#host = host
    this.#maxWillBytes = memoryBudget * WILL_BUDGET_SHARE
  }

  /** The number of delayed wills. */
  get willCount(): number {
    let count = 0
    for (const { will } of this.#offline.values()) if (will) count++
    return count
  }

  /**
   * Keeps the session of a client that disconnected.
   *
   * @param delayMs - will delay
   */
  add(client: Client, session: Session, will: Will | undefined, delayMs: number): void {
    const { clock, timeouts } = this.#host
    const now = clock.monotonic()
    const expiry = timeouts.add(now + 1000 * session.expirySeconds, () => {
      this.#host.traffic.sessionsExpired++
      this.#host.end(session)
    })
    const deadline = will && delayMs > 0 ? timeouts.add(now + delayMs, () => this.publishWill(session)) : undefined
    this.#offline.set(session, { expiry, will: will && deadline && { client, message: will, deadline } })
    const bytes = will && deadline ? willSize(will) : 0
    this.#willBytes += bytes
    this.#usageByOwner.add(session, bytes)
    this.#enforceLimits()
  }

  /** Forgets a session that was resumed or has ended, and discards its pending will. */
  remove(session: Session): void {
    const offline = this.#offline.get(session)
    if (offline === undefined) return
    this.#offline.delete(session)
    this.#host.timeouts.remove(offline.expiry)
    this.#removeWill(session, offline)
    this.#usageByOwner.delete(session)
  }

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

interface OwnerUsage {
  /** The sessions in the order in which their clients disconnected. */
  readonly sessions: Set<Session>
  readonly sessionsWithWill: Set<Session>
  willBytes: number
}

/**
 * Records each owner's usage, so that an owner with many offline sessions cannot displace the sessions of others.
 *
 * @example
 * ```ts
 * usage.add(session, 0)
 * if (isOverLimit) end(usage.oldestOfLargestOwner('sessions'))
 * ```
 */
export class OfflineUsageByOwner {
  readonly #usage = new Map<string, OwnerUsage>()

  /** @param willBytes - size of the session's pending will, or 0 without a will */
  add(session: Session, willBytes: number): void {
    const name = session.accountName
    const usage = this.#usage.get(name) ?? { sessions: new Set(), sessionsWithWill: new Set(), willBytes: 0 }
    this.#usage.set(name, usage)
    usage.sessions.add(session)
    if (willBytes === 0) return
    usage.sessionsWithWill.add(session)
    usage.willBytes += willBytes
  }

  /** @param willBytes - the size passed to {@link add} */
  dropWill(session: Session, willBytes: number): void {
    const usage = this.#usage.get(session.accountName)
    if (usage?.sessionsWithWill.delete(session)) usage.willBytes -= willBytes
  }

  /** Removes a session whose will has been dropped. */
  delete(session: Session): void {
    const name = session.accountName
    const usage = this.#usage.get(name)
    usage?.sessions.delete(session)
    if (usage?.sessions.size === 0) this.#usage.delete(name)
  }

  /**
   * Returns the longest-offline session of the owner with the most sessions or will bytes. For `wills`, only sessions
   * with a will count.
   */
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
