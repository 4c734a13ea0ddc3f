import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import { UsageByOwner } from '../limits/usage-by-owner.js'
import type { ConnectionHost } from '../session/connection-host.js'
import type { Session } from '../session/session.js'

export interface OfflineSessionsHost extends Pick<ConnectionHost<never>, 'clock' | 'timeouts' | 'traffic' | 'wills'> {
  end(session: Session): void
}

/**
 * Keeps the sessions of disconnected clients. When there are too many sessions or delayed wills, the owner with the
 * highest usage loses its longest-offline session.
 */
export class OfflineSessions {
  readonly #host: OfflineSessionsHost
  readonly #expiries = new Map<Session, Deadline<() => void>>()
  readonly #count = new UsageByOwner<Session>()

  constructor(host: OfflineSessionsHost) {
    this.#host = host
  }

  /** Keeps the session of a client that disconnected. */
  add(session: Session): void {
    const { clock, timeouts } = this.#host
    const expiry = timeouts.add(clock.monotonic() + 1000 * session.expirySeconds, () => {
      this.#host.traffic.sessionsExpired++
      this.#host.end(session)
    })
    this.#expiries.set(session, expiry)
    this.#count.add(session, 1)
    this.#enforceLimits()
  }

  /** Forgets a session that was resumed or has ended. */
  remove(session: Session): void {
    const expiry = this.#expiries.get(session)
    if (expiry === undefined) return
    this.#expiries.delete(session)
    this.#host.timeouts.remove(expiry)
    this.#count.delete(session)
  }

  #enforceLimits(): void {
    while (this.#count.total > LIMIT.offlineSessions) if (!this.#evict(this.#count.oldestOfLargestOwner())) return
    for (let next = this.#host.wills.excessive; this.#evict(next); next = this.#host.wills.excessive);
  }

  #evict(session: Session | undefined): boolean {
    if (session === undefined) return false
    this.#host.end(session)
    return !this.#expiries.has(session)
  }
}
