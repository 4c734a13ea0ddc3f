import type { ClosedError } from '../../core/util/errors.js'
import type { DownFrame, UpFrame } from '../wire/frames.js'
import type { Action, MachineSettings } from './events.js'

const NEVER = Number.POSITIVE_INFINITY
/** At a hub that has never answered, a socket that stays open for this long has recovered its session, ms. Half the time there is, if that is less. */
const TRUSTED_AFTER = 1_000
/** An attempt that hangs may not outlast the time for which a hub keeps a session when the network is back, ms. */
const LONGEST_RECOVERY_ATTEMPT = 4_000
/** Codes with which a hub may close that takes a ping for a violation (RFC 6455, section 7.4.1). */
const VIOLATIONS = [1002, 1003, 1007, 1008]

/** The group that is left, though never joined, to be answered: reserved, so that it is none of an application's. */
export const ALIVE_GROUP = 'rx-statestore:alive'

/**
 * Attempts to connect, one after the other, and whether the socket of the latest is alive: all steps of an attempt
 * together have a time limit, and a link that is up has to be heard from. A silent link is asked before it is given up,
 * for timers stand still while a computer sleeps. Pure; times in ms.
 *
 * Not every hub answers pings: they are younger than the reliable subprotocols. One that never has is sent a request as
 * well, to leave {@link ALIVE_GROUP}, which any hub acknowledges or refuses; and as long as a session is recovered, that
 * alone. Nobody waits for that very answer, since any
 * frame is a sign of life: so it is never sent again, and owed to nobody.
 */
export class ClientLink {
  /** What the hub said before it closes. */
  farewell = ''
  readonly #settings: MachineSettings
  readonly #host: LifecycleHost
  #number = 0
  #url = ''
  #stage: 'none' | 'url' | 'opening' | 'proving' | 'up' = 'none'
  /** When the attempt has failed. */
  #endsAt = NEVER
  #heardAt = 0
  /** When it was asked for a sign of life that has not come. */
  #askedAt: number | undefined
  #trustedAt = NEVER
  /** What the hub makes of pings. */
  #pings: 'unknown' | 'answered' | 'refused' = 'unknown'
  /** Whether it was sent one over this link. */
  #pinged = false
  /** Of the latest request to leave {@link ALIVE_GROUP}. */
  #ackId: bigint | undefined
  /** Whether the hub has ever answered a ping or such a request. */
  #answers = false
  /** Whether it has not, when it was asked last. */
  #doubted = false

  constructor(settings: MachineSettings, host: LifecycleHost) {
    this.#settings = settings
    this.#host = host
  }

  get stage(): 'none' | 'url' | 'opening' | 'proving' | 'up' {
    return this.#stage
  }

  /** When the last frame came. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Whether the hub is known to answer when it is asked for a sign of life. */
  get answers(): boolean {
    return this.#answers
  }

  /** When {@link check} has something to say. */
  get deadline(): number {
    if (this.#stage === 'none') return NEVER
    if (this.#stage === 'up') return (this.#askedAt ?? this.#heardAt) + this.#settings.keepAlive / 2
    return Math.min(this.#endsAt, this.#trustedAt)
  }

  /** Another attempt begins, with a fresh URL. */
  askForUrl(now: number): void {
    this.#begin('url', now, this.#settings.connectTimeout)
    this.#host.act({ type: 'fetchUrl', link: this.#number })
  }

  /** The URL is there. */
  open(url: string, now: number): void {
    this.#url = url
    // It may be another hub, or an older one.
    if (this.#doubted) this.#answers = false
    this.advance('opening', now)
    this.#host.act({ type: 'open', link: this.#number, url })
  }

  /** Another attempt begins, to go on with a session. */
  reopen({ connectionId, reconnectionToken: token = '' }: Connected, now: number): void {
    this.#begin('opening', now, Math.min(this.#settings.connectTimeout, LONGEST_RECOVERY_ATTEMPT))
    this.#host.act({ type: 'open', link: this.#number, url: recoveryUrl(this.#url, { connectionId, token }) })
  }

  /** Whether something belongs to the attempt, which is at one of these stages. */
  isAt(number: number, ...stages: readonly ClientLink['stage'][]): boolean {
    return number === this.#number && stages.includes(this.#stage)
  }

  advance(stage: 'opening' | 'proving' | 'up', now: number): void {
    this.#stage = stage
    this.hear(now)
  }

  /** A frame came: whatever it is, the hub is alive. */
  hear(now: number): void {
    this.#heardAt = now
    this.#askedAt = undefined
  }

  /** Asks the hub for a sign of life. */
  ask(now: number): void {
    this.#askedAt ??= now
    if (this.#mayPing()) this.#ping()
    if (this.#pings !== 'answered') this.#request()
  }

  /** The hub has answered a ping. */
  ponged(): void {
    this.#pings = 'answered'
    this.#trustworthy()
  }

  /** The hub has answered a request. */
  acknowledged(ackId: bigint): void {
    if (ackId === this.#ackId) this.#trustworthy()
  }

  /** The socket is open again, and no frame may come to say so. */
  trust(now: number): void {
    const { connectTimeout, recoveryWindow } = this.#settings
    this.#trustedAt = now + Math.min(TRUSTED_AFTER, connectTimeout / 2, recoveryWindow / 2)
  }

  /** What the deadline means. */
  check(now: number): 'silent' | 'dead' | 'trusted' | undefined {
    if (this.deadline > now) return undefined
    if (this.#stage !== 'up') return this.#trustedAt <= now ? 'trusted' : 'dead'
    return this.#askedAt === undefined ? 'silent' : 'dead'
  }

  /** The other side closed the socket: over a ping, if it has answered none and such is the code. */
  closed(code: number): void {
    if (this.#pings === 'unknown' && this.#pinged && VIOLATIONS.includes(code)) this.#pings = 'refused'
  }

  /** The socket is gone. */
  drop(): void {
    this.#stage = 'none'
    this.#askedAt = undefined
  }

  /** Closes the socket; without a code unless the session is to end, for 1000 makes the hub forget it. */
  abandon(code?: number): void {
    if (this.#askedAt !== undefined) this.#doubt()
    if (this.#stage !== 'none' && this.#stage !== 'url') this.#host.act({ type: 'close', code })
    this.drop()
  }

  #begin(stage: 'url' | 'opening', now: number, patience: number): void {
    this.#number++
    this.#stage = stage
    this.#endsAt = now + patience
    this.#trustedAt = NEVER
    this.#pinged = false
    this.farewell = ''
  }

  /** Before the link is up, 1008 says that there is no such session: nobody could tell whether it was about a ping. */
  #mayPing(): boolean {
    return this.#pings === 'answered' || (this.#pings === 'unknown' && this.#stage === 'up')
  }

  #trustworthy(): void {
    this.#answers = true
    this.#doubted = false
  }

  /** What used to answer did not: the link is dead, or there is a hub now that answers less. */
  #doubt(): void {
    this.#doubted = true
    if (this.#pings === 'answered') this.#pings = 'unknown'
  }

  #ping(): void {
    this.#pinged = true
    this.#transmit({ type: 'ping' })
  }

  #request(): void {
    this.#ackId = this.#host.nextId()
    this.#transmit({ type: 'leaveGroup', group: ALIVE_GROUP, ackId: this.#ackId })
  }

  #transmit(frame: UpFrame): void {
    this.#host.act({ type: 'transmit', data: this.#settings.codec.encode(frame) })
  }
}

/** What else depends on the connection. */
export interface LifecycleHost {
  readonly act: (action: Action) => void
  /** The hub listens: in a new session, or in the recovered one. */
  readonly resumed: (now: number) => void
  /** A fresh id for a request. */
  readonly nextId: () => bigint
  /** The socket is gone. */
  readonly suspended: () => void
  /** The session is gone; the hub was heard last at `since`. */
  readonly sessionLost: (since: number, now: number) => void
  readonly stopped: (error: ClosedError, now: number) => void
}

/** The first frame of a session. */
export type Connected = Extract<DownFrame, { type: 'connected' }>

/** A session that is to be got back. */
export interface Recovery {
  readonly since: number
  readonly deadline: number
  readonly heardAt: number
  /** What the hub said before it closed: why the session may be gone. */
  readonly farewell: string
}

/** What it takes to get a session back. */
export interface SessionKey {
  readonly connectionId: string
  readonly token: string
}

const REPLACED = /^(access_token|awps_connection_id|awps_reconnection_token)(=|$)/

/** Whether a text is an absolute `ws:` or `wss:` URL. */
export function isWebSocketUrl(url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  return ['ws:', 'wss:'].includes(new URL(url).protocol)
}

/**
 * The URL that recovers a session: the one it was opened with, and its id and reconnection token percent-encoded. The
 * access token stays behind: it is neither needed nor looked at, may have expired, and need not lie in one more log.
 * ("Reconnection"; a hub named by `?hub=` has to stay.)
 */
export function recoveryUrl(url: string, { connectionId, token }: SessionKey): string {
  const target = new URL(url)
  const kept = target.search.slice(1).split('&')
  target.search = [
    ...kept.filter(parameter => parameter !== '' && !REPLACED.test(parameter)),
    `awps_connection_id=${encodeURIComponent(connectionId)}`,
    `awps_reconnection_token=${encodeURIComponent(token)}`,
  ].join('&')
  return target.href
}
