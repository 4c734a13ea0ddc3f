import { reason, type StateStoreError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'
import { ClientLink, type Connected, isWebSocketUrl, type LifecycleHost, type Recovery } from './client-link.js'
import type { MachineSettings, PubSubStatus } from './events.js'
import { clientClosedError } from './in-flight-request.js'
import { closedByPeer, failure, type LinkEnd, withDisconnectReason } from './link-end.js'
import { ReconnectSchedule } from './reconnect-schedule.js'

/**
 * The close code of a hub that no longer has the session. It is the only code that ends a recovery ("Reconnection").
 */
const SESSION_GONE = 1008
const NORMAL = 1000
const NEVER = Number.POSITIVE_INFINITY

/**
 * Connects, recovers the session when the socket is lost, and opens a new session when the recovery fails
 * ("Reconnection"). Continues until the client is stopped. A recovery ends when the hub closes with 1008 or the
 * recovery window has passed. After other failures, such as an HTTP error or a refused connection, the recovery is
 * retried. Pure. All times are in ms.
 */
export class Lifecycle {
  readonly #settings: MachineSettings
  readonly #host: LifecycleHost
  readonly #link: ClientLink
  readonly #reconnectSchedule: ReconnectSchedule
  #phase: 'idle' | 'connecting' | 'connected' | 'recovering' | 'waiting' | 'stopped' = 'idle'
  #session: Connected | undefined
  #recovery: Recovery | undefined

  constructor(settings: MachineSettings, host: LifecycleHost) {
    this.#settings = settings
    this.#host = host
    this.#link = new ClientLink(settings, host)
    this.#reconnectSchedule = new ReconnectSchedule(settings)
  }

  get deadline(): number {
    return Math.min(this.#link.deadline, this.#reconnectSchedule.retryAt, this.#recovery?.deadline ?? NEVER)
  }

  start(now: number): void {
    if (this.#phase !== 'idle') return
    this.#reconnectSchedule.start()
    this.#connect(now)
  }

  close(now: number): void {
    this.#stop({ code: NORMAL, reason: 'closed by caller' }, undefined, now)
  }

  tick(now: number): void {
    const state = this.#link.check(now)
    if (state === 'silent') this.#link.probe(now)
    // The hub sends no frame for a recovered session. Only a lost session is reported, and that immediately.
    if (state === 'trusted') this.confirmRecovery(now)
    if (this.#recovery && this.#recovery.deadline <= now) {
      this.#link.abandon()
      this.#loseSession(failure(`The session was not recovered within ${this.#settings.recoveryWindow} ms`), now)
    } else if (state === 'dead') {
      const why = this.#link.stage === 'url' ? 'The URL function did not return in time' : 'The hub stopped responding'
      this.#link.abandon()
      this.#onLinkLost(failure(why), now)
    } else if (this.#reconnectSchedule.retryAt <= now) this.#retry(now)
  }

  /** Probes the connection and skips the retry delay, because both may be outdated after the computer slept. */
  onWake(now: number): void {
    if (this.#link.stage === 'up') this.#link.probe(now)
    if (this.#reconnectSchedule.retryAt < NEVER) this.#retry(now)
  }

  onUrl(link: number, url: unknown, now: number): void {
    if (!this.#link.isAt(link, 'url')) return
    if (isWebSocketUrl(url)) this.#link.open(url, now)
    else this.#onLinkLost(failure(`Expected a ws: or wss: URL, got \`${formatUrl(url)}\``), now)
  }

  onUrlFailed(link: number, error: unknown, now: number): void {
    if (this.#link.isAt(link, 'url'))
      this.#onLinkLost(failure(`The URL function failed: ${reason(error)}`, { cause: error }), now)
  }

  /**
   * Probes a reopened socket, because an open socket does not prove a recovery and the hub sends no frame for a
   * recovery.
   */
  onOpened(link: number, now: number): void {
    if (!this.#link.isAt(link, 'opening')) return
    this.#link.advance('proving', now)
    if (this.#recovery === undefined) return
    if (!this.#link.answersProbes) this.#link.scheduleTrust(now)
    this.#link.probe(now)
  }

  acceptsData(link: number, now: number): boolean {
    if (!this.#link.isAt(link, 'proving', 'up')) return false
    this.#link.onActivity(now)
    return true
  }

  onPong(): void {
    this.#link.onPong()
  }

  onAck(ackId: bigint): void {
    this.#link.onAck(ackId)
  }

  /** Ends a recovery, because the hub sent a frame other than `connected` or `disconnected`. */
  confirmRecovery(now: number): void {
    if (this.#recovery && this.#session) this.#setConnected(this.#session, now)
  }

  /**
   * Handles a `connected` frame. The first such frame begins the session. A later frame renews the session's token or
   * replaces the session.
   */
  onConnected(frame: Connected, now: number): void {
    if (this.#phase === 'connecting') this.#setConnected(frame, now)
    else if (frame.connectionId !== this.#session?.connectionId) this.#replaceSession(frame, now)
    else {
      this.confirmRecovery(now)
      this.#session = { ...frame, reconnectionToken: frame.reconnectionToken ?? this.#session.reconnectionToken }
    }
  }

  onDisconnected(hubReason: string): void {
    this.#link.hubReason = hubReason
  }

  onClosed(link: number, code: number, reason: string, now: number): void {
    if (!this.#link.isAt(link, 'opening', 'proving', 'up')) return
    this.#link.onClosed(code)
    this.#onLinkLost(closedByPeer(code, this.#link.hubReason || reason), now)
  }

  #connect(now: number): void {
    this.#phase = 'connecting'
    this.#publishStatus({ state: 'connecting' })
    this.#link.fetchUrl(now)
  }

  #retry(now: number): void {
    this.#reconnectSchedule.clear()
    const lost = this.#recovery && this.#session
    if (lost) this.#link.reopen(lost, now)
    else this.#connect(now)
  }

  #setConnected(session: Connected, now: number): void {
    const { connectionId, userId } = session
    this.#phase = 'connected'
    this.#session = session
    this.#recovery = undefined
    this.#reconnectSchedule.onConnected(now)
    this.#link.advance('up', now)
    this.#publishStatus({ state: 'connected', connectionId, userId })
    this.#host.onResumed(now)
  }

  #onLinkLost(end: LinkEnd, now: number): void {
    this.#link.drop()
    if (this.#phase === 'connecting') {
      this.#scheduleReconnect(end, now)
      return
    }
    if (this.#phase === 'connected') this.#beginRecovery(now)
    if (end.code === SESSION_GONE || !this.#session?.reconnectionToken) this.#loseSession(end, now)
    else this.#scheduleRecovery(end.cause, now)
  }

  #beginRecovery(now: number): void {
    this.#phase = 'recovering'
    const { receivedAt, hubReason } = this.#link
    this.#recovery = { since: now, deadline: now + this.#settings.recoveryWindow, receivedAt, hubReason }
    this.#reconnectSchedule.onDisconnected(now)
    this.#host.onSuspended()
  }

  #scheduleRecovery(cause: StateStoreError, now: number): void {
    if (this.#recovery === undefined) return
    this.#reconnectSchedule.scheduleRecovery(now)
    const { since, deadline } = this.#recovery
    const attempt = this.#reconnectSchedule.recoveryAttempts
    this.#publishStatus({ state: 'recovering', since, attempt, deadline, cause })
    if (this.#reconnectSchedule.retryAt <= now) this.#retry(now)
  }

  #loseSession(end: LinkEnd, now: number): void {
    const { hubReason = '' } = this.#recovery ?? {}
    this.#endSession(now)
    this.#scheduleReconnect(withDisconnectReason(hubReason, end), now)
  }

  #endSession(now: number): void {
    const receivedAt = this.#recovery?.receivedAt ?? now
    this.#session = undefined
    this.#recovery = undefined
    this.#host.onSessionLost(receivedAt, now)
  }

  #replaceSession(session: Connected, now: number): void {
    if (this.#phase === 'connected') {
      this.#reconnectSchedule.onDisconnected(now)
      this.#host.onSuspended()
    }
    const attempt = this.#reconnectSchedule.attempts + 1
    const reason = this.#recovery?.hubReason || 'The hub began another session'
    this.#endSession(now)
    this.#publishStatus({ state: 'disconnected', code: undefined, reason, retryAt: now, attempt })
    this.#setConnected(session, now)
  }

  #scheduleReconnect(end: LinkEnd, now: number): void {
    const { code, reason, cause } = end
    const finalCause = this.#reconnectSchedule.scheduleConnect(cause, now)
    if (finalCause) {
      this.#stop(end, finalCause, now)
      return
    }
    this.#phase = 'waiting'
    const { retryAt, attempts: attempt } = this.#reconnectSchedule
    this.#publishStatus({ state: 'disconnected', code, reason, retryAt, attempt })
    if (retryAt <= now) this.#retry(now)
  }

  #stop({ code, reason }: Omit<LinkEnd, 'cause'>, cause: StateStoreError | undefined, now: number): void {
    if (this.#phase === 'stopped') return
    this.#phase = 'stopped'
    this.#link.abandon(NORMAL)
    this.#recovery = undefined
    this.#reconnectSchedule.clear()
    this.#host.onStopped(clientClosedError(cause), now)
    this.#publishStatus({ state: 'stopped', code, reason, cause })
  }

  #publishStatus(status: PubSubStatus): void {
    this.#host.act({ type: 'status', status })
  }
}
