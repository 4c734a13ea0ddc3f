import { formatValue, reason, type StateStoreError } from '../../core/util/errors.js'
import { ClientLink, type Connected, isWebSocketUrl, type LifecycleHost, type Recovery } from './client-link.js'
import type { MachineSettings, PubSubStatus } from './events.js'
import { closedBy } from './in-flight-request.js'
import { afterFarewell, closedWith, failure, type LinkEnd, ReconnectSchedule } from './reconnect-schedule.js'

/** The hub no longer has the session; the only close code that ends a recovery ("Reconnection"). */
const SESSION_GONE = 1008
const NORMAL = 1000
const NEVER = Number.POSITIVE_INFINITY

/**
 * Connects; recovers the session when the socket is lost; opens a new session when recovery fails; until stopped
 * ("Reconnection"). Recovery ends when the hub closes with 1008 or the recovery window has passed; other failures, such
 * as an HTTP error or a refused connection, are retried. Pure; times in ms.
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

  /** When {@link tick} should run next. */
  get deadline(): number {
    return Math.min(this.#link.deadline, this.#reconnectSchedule.at, this.#recovery?.deadline ?? NEVER)
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
    if (state === 'silent') this.#link.ask(now)
    // The hub sends no frame for a recovered session; only a lost one is reported, immediately.
    if (state === 'trusted') this.proven(now)
    if (this.#recovery && this.#recovery.deadline <= now) {
      this.#link.abandon()
      this.#loseSession(failure(`The session was not recovered within ${this.#settings.recoveryWindow} ms`), now)
    } else if (state === 'dead') {
      this.#link.abandon()
      this.#lost(failure('The hub stopped responding'), now)
    } else if (this.#reconnectSchedule.at <= now) this.#retry(now)
  }

  /** Probes the connection and skips the retry delay: both may be outdated after sleep. */
  woke(now: number): void {
    if (this.#link.stage === 'up') this.#link.ask(now)
    if (this.#reconnectSchedule.at < NEVER) this.#retry(now)
  }

  gotUrl(link: number, url: unknown, now: number): void {
    if (!this.#link.isAt(link, 'url')) return
    if (isWebSocketUrl(url)) this.#link.open(url, now)
    else this.#lost(failure(`Expected a ws: or wss: URL, got \`${formatValue(url)}\``), now)
  }

  gotNoUrl(link: number, error: unknown, now: number): void {
    if (this.#link.isAt(link, 'url'))
      this.#lost(failure(`The URL function failed: ${reason(error)}`, { cause: error }), now)
  }

  /** An open socket does not prove a recovery, and the hub sends no frame for one, so it is probed. */
  opened(link: number, now: number): void {
    if (!this.#link.isAt(link, 'opening')) return
    this.#link.advance('proving', now)
    if (this.#recovery === undefined) return
    if (!this.#link.answers) this.#link.trust(now)
    this.#link.ask(now)
  }

  /** Returns whether the received data should be read. */
  heard(link: number, now: number): boolean {
    if (!this.#link.isAt(link, 'proving', 'up')) return false
    this.#link.hear(now)
    return true
  }

  ponged(): void {
    this.#link.ponged()
  }

  acknowledged(ackId: bigint): void {
    this.#link.acknowledged(ackId)
  }

  /** Ends a recovery: the hub sent a frame other than `connected` or `disconnected`. */
  proven(now: number): void {
    if (this.#recovery && this.#session) this.#up(this.#session, now)
  }

  /**
   * The first `connected` frame begins the session; a later one renews its reconnection token or replaces the session.
   */
  connected(frame: Connected, now: number): void {
    if (this.#phase === 'connecting') this.#up(frame, now)
    else if (frame.connectionId !== this.#session?.connectionId) this.#replaced(frame, now)
    else {
      this.proven(now)
      this.#session = { ...frame, reconnectionToken: frame.reconnectionToken ?? this.#session.reconnectionToken }
    }
  }

  disconnected(farewell: string): void {
    this.#link.farewell = farewell
  }

  closed(link: number, code: number, reason: string, now: number): void {
    if (!this.#link.isAt(link, 'opening', 'proving', 'up')) return
    this.#link.closed(code)
    this.#lost(closedWith(code, this.#link.farewell || reason), now)
  }

  #connect(now: number): void {
    this.#phase = 'connecting'
    this.#show({ state: 'connecting' })
    this.#link.askForUrl(now)
  }

  #retry(now: number): void {
    this.#reconnectSchedule.clear()
    const lost = this.#recovery && this.#session
    if (lost) this.#link.reopen(lost, now)
    else this.#connect(now)
  }

  #up(session: Connected, now: number): void {
    const { connectionId, userId } = session
    this.#phase = 'connected'
    this.#session = session
    this.#recovery = undefined
    this.#reconnectSchedule.up(now)
    this.#link.advance('up', now)
    this.#show({ state: 'connected', connectionId, userId })
    this.#host.resumed(now)
  }

  #lost(end: LinkEnd, now: number): void {
    this.#link.drop()
    if (this.#phase === 'connecting') {
      this.#reconnect(end, now)
      return
    }
    if (this.#phase === 'connected') this.#down(now)
    if (end.code === SESSION_GONE || !this.#session?.reconnectionToken) this.#loseSession(end, now)
    else this.#recoverLater(end.cause, now)
  }

  #down(now: number): void {
    this.#phase = 'recovering'
    const { heardAt, farewell } = this.#link
    this.#recovery = { since: now, deadline: now + this.#settings.recoveryWindow, heardAt, farewell }
    this.#reconnectSchedule.down(now)
    this.#host.suspended()
  }

  #recoverLater(cause: StateStoreError, now: number): void {
    if (this.#recovery === undefined) return
    this.#reconnectSchedule.recover(now)
    const { since, deadline } = this.#recovery
    const attempt = this.#reconnectSchedule.recoveries
    this.#show({ state: 'recovering', since, attempt, deadline, cause })
    if (this.#reconnectSchedule.at <= now) this.#retry(now)
  }

  #loseSession(end: LinkEnd, now: number): void {
    const { farewell = '' } = this.#recovery ?? {}
    this.#endSession(now)
    this.#reconnect(afterFarewell(farewell, end), now)
  }

  #endSession(now: number): void {
    const heardAt = this.#recovery?.heardAt ?? now
    this.#session = undefined
    this.#recovery = undefined
    this.#host.sessionLost(heardAt, now)
  }

  /** The hub began another session, so the former one is lost. */
  #replaced(session: Connected, now: number): void {
    if (this.#phase === 'connected') {
      this.#reconnectSchedule.down(now)
      this.#host.suspended()
    }
    const attempt = this.#reconnectSchedule.connects + 1
    const reason = this.#recovery?.farewell || 'The hub began another session'
    this.#endSession(now)
    this.#show({ state: 'disconnected', code: undefined, reason, retryAt: now, attempt })
    this.#up(session, now)
  }

  #reconnect(end: LinkEnd, now: number): void {
    const { code, reason, cause } = end
    const final = this.#reconnectSchedule.connect(cause, now)
    if (final) {
      this.#stop(end, final, now)
      return
    }
    this.#phase = 'waiting'
    const { at: retryAt, connects: attempt } = this.#reconnectSchedule
    this.#show({ state: 'disconnected', code, reason, retryAt, attempt })
    if (retryAt <= now) this.#retry(now)
  }

  #stop({ code, reason }: Omit<LinkEnd, 'cause'>, cause: StateStoreError | undefined, now: number): void {
    if (this.#phase === 'stopped') return
    this.#phase = 'stopped'
    this.#link.abandon(NORMAL)
    this.#recovery = undefined
    this.#reconnectSchedule.clear()
    this.#host.stopped(closedBy(cause), now)
    this.#show({ state: 'stopped', code, reason, cause })
  }

  #show(status: PubSubStatus): void {
    this.#host.act({ type: 'status', status })
  }
}
