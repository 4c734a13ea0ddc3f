import type { ClosedError } from '../../core/util/errors.js'
import type { DownFrame, UpFrame } from '../wire/frames.js'
import type { Action, MachineSettings } from './events.js'

const NEVER = Number.POSITIVE_INFINITY
/**
 * The time in ms after which an open socket counts as recovered if the hub has never answered a probe. Half of a
 * shorter limit applies instead.
 */
const TRUST_DELAY_MS = 1_000
/**
 * The time in ms in which a recovery must open a socket, so that a hanging attempt ends while the hub still keeps the
 * session.
 */
const MAX_RECOVERY_ATTEMPT_MS = 4_000
/** The close codes of hubs that take a ping for a violation (RFC 6455, section 7.4.1). */
const VIOLATION_CODES = [1002, 1003, 1007, 1008]

/** A reserved group that is never joined. A request to leave it probes the hub. */
export const PROBE_GROUP = 'rx-statestore:alive'

/**
 * The current attempt to connect and its socket's liveness. All steps of an attempt share one time limit, and a
 * connected link must receive frames. A silent link is probed before it is dropped, because timers stop while a
 * computer sleeps. Pure. All times are in ms.
 *
 * Pings are younger than the reliable subprotocols, so not every hub answers them. Until a hub has answered a ping, the
 * client also sends a request to leave {@link PROBE_GROUP}, which any hub acknowledges or rejects. During a recovery,
 * the client sends only that request. Any frame proves that the hub is alive, so the request is not tracked or sent
 * again.
 */
export class ClientLink {
  hubReason = ''
  readonly #settings: MachineSettings
  readonly #host: LifecycleHost
  #number = 0
  #url = ''
  #stage: 'none' | 'url' | 'opening' | 'proving' | 'up' = 'none'
  #attemptDeadline = NEVER
  #receivedAt = 0
  #probedAt: number | undefined
  #trustedAt = NEVER
  #pingSupport: 'unknown' | 'answered' | 'refused' = 'unknown'
  #hasPinged = false
  #probeAckId: bigint | undefined
  #answersProbes = false
  #hasMissedProbe = false

  constructor(settings: MachineSettings, host: LifecycleHost) {
    this.#settings = settings
    this.#host = host
  }

  get stage(): 'none' | 'url' | 'opening' | 'proving' | 'up' {
    return this.#stage
  }

  get receivedAt(): number {
    return this.#receivedAt
  }

  get answersProbes(): boolean {
    return this.#answersProbes
  }

  get deadline(): number {
    if (this.#stage === 'none') return NEVER
    if (this.#stage === 'up') return (this.#probedAt ?? this.#receivedAt) + this.#settings.keepAlive / 2
    return Math.min(this.#attemptDeadline, this.#trustedAt)
  }

  fetchUrl(now: number): void {
    this.#begin('url', now, this.#settings.connectTimeout)
    this.#host.act({ type: 'fetchUrl', link: this.#number })
  }

  open(url: string, now: number): void {
    this.#url = url
    // The URL may lead to another hub, or to a hub of an older version.
    if (this.#hasMissedProbe) this.#answersProbes = false
    this.advance('opening', now)
    this.#host.act({ type: 'open', link: this.#number, url })
  }

  reopen({ connectionId, reconnectionToken: token = '' }: Connected, now: number): void {
    this.#begin('opening', now, Math.min(this.#settings.connectTimeout, MAX_RECOVERY_ATTEMPT_MS))
    this.#host.act({ type: 'open', link: this.#number, url: recoveryUrl(this.#url, { connectionId, token }) })
  }

  /** Returns whether `number` is the current attempt and has one of these stages. */
  isAt(number: number, ...stages: readonly ClientLink['stage'][]): boolean {
    return number === this.#number && stages.includes(this.#stage)
  }

  advance(stage: 'opening' | 'proving' | 'up', now: number): void {
    this.#stage = stage
    this.onActivity(now)
  }

  onActivity(now: number): void {
    this.#receivedAt = now
    this.#probedAt = undefined
  }

  probe(now: number): void {
    this.#probedAt ??= now
    // In a recovery, the hub may first send a large message again, so an open socket may be silent for longer than an
    // attempt to open it may take.
    this.#attemptDeadline = Math.max(this.#attemptDeadline, now + this.#settings.keepAlive / 2)
    if (this.#canPing()) this.#sendPing()
    if (this.#pingSupport !== 'answered') this.#sendProbeRequest()
  }

  onPong(): void {
    this.#pingSupport = 'answered'
    this.#markResponsive()
  }

  onAck(ackId: bigint): void {
    if (ackId === this.#probeAckId) this.#markResponsive()
  }

  /** Schedules the time at which the reopened socket counts as recovered, because the hub may not send a frame. */
  scheduleTrust(now: number): void {
    const { connectTimeout, recoveryWindow } = this.#settings
    this.#trustedAt = now + Math.min(TRUST_DELAY_MS, connectTimeout / 2, recoveryWindow / 2)
  }

  check(now: number): 'silent' | 'dead' | 'trusted' | undefined {
    if (this.deadline > now) return undefined
    if (this.#stage !== 'up') return this.#trustedAt <= now ? 'trusted' : 'dead'
    return this.#probedAt === undefined ? 'silent' : 'dead'
  }

  /** Handles a close by the hub. A violation code after a ping without any pong means that the hub rejects pings. */
  onClosed(code: number): void {
    if (this.#pingSupport === 'unknown' && this.#hasPinged && VIOLATION_CODES.includes(code))
      this.#pingSupport = 'refused'
  }

  drop(): void {
    this.#stage = 'none'
    this.#probedAt = undefined
  }

  /** Closes the socket. Pass a code only to end the session. Code 1000 makes the hub discard the session. */
  abandon(code?: number): void {
    if (this.#probedAt !== undefined) this.#markUnresponsive()
    if (this.#stage !== 'none' && this.#stage !== 'url') this.#host.act({ type: 'close', code })
    this.drop()
  }

  #begin(stage: 'url' | 'opening', now: number, timeoutMs: number): void {
    this.#number++
    this.#stage = stage
    this.#attemptDeadline = now + timeoutMs
    this.#trustedAt = NEVER
    this.#hasPinged = false
    this.hubReason = ''
  }

  /**
   * Returns whether the hub may be pinged. During a recovery, code 1008 means that the session is unknown, so a
   * rejected ping would look the same.
   */
  #canPing(): boolean {
    return this.#pingSupport === 'answered' || (this.#pingSupport === 'unknown' && this.#stage === 'up')
  }

  #markResponsive(): void {
    this.#answersProbes = true
    this.#hasMissedProbe = false
  }

  /** Records that the link is dead, or that another hub, which does not answer pings, has replaced the hub. */
  #markUnresponsive(): void {
    this.#hasMissedProbe = true
    if (this.#pingSupport === 'answered') this.#pingSupport = 'unknown'
  }

  #sendPing(): void {
    this.#hasPinged = true
    this.#transmit({ type: 'ping' })
  }

  #sendProbeRequest(): void {
    this.#probeAckId = this.#host.nextId()
    this.#transmit({ type: 'leaveGroup', group: PROBE_GROUP, ackId: this.#probeAckId })
  }

  #transmit(frame: UpFrame): void {
    this.#host.act({ type: 'transmit', data: this.#settings.codec.encode(frame) })
  }
}

export interface LifecycleHost {
  readonly act: (action: Action) => void
  readonly onResumed: (now: number) => void
  readonly nextId: () => bigint
  readonly onSuspended: () => void
  /** Called when a session is lost. `since` is the time when the hub's last frame arrived. */
  readonly onSessionLost: (since: number, now: number) => void
  readonly onStopped: (error: ClosedError, now: number) => void
}

export type Connected = Extract<DownFrame, { type: 'connected' }>

export interface Recovery {
  readonly since: number
  readonly deadline: number
  readonly receivedAt: number
  /** The reason in the hub's `disconnected` frame, which may explain why the session ended. */
  readonly hubReason: string
}

export interface SessionKey {
  readonly connectionId: string
  readonly token: string
}

const REPLACED_PARAMETERS = /^(access_token|awps_connection_id|awps_reconnection_token)(=|$)/

export function isWebSocketUrl(url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  return ['ws:', 'wss:'].includes(new URL(url).protocol)
}

/**
 * Returns the URL that recovers a session: the original URL plus the session's id and reconnection token,
 * percent-encoded. The access token is removed, because it is not needed, may have expired, and would appear in logs.
 * ("Reconnection"; a hub named by `?hub=` must stay.)
 */
export function recoveryUrl(url: string, { connectionId, token }: SessionKey): string {
  const target = new URL(url)
  const parameters = target.search.slice(1).split('&')
  target.search = [
    ...parameters.filter(parameter => parameter !== '' && !REPLACED_PARAMETERS.test(parameter)),
    `awps_connection_id=${encodeURIComponent(connectionId)}`,
    `awps_reconnection_token=${encodeURIComponent(token)}`,
  ].join('&')
  return target.href
}
