import type { Action, MachineSettings } from './events.js'
import type { Connected } from './lifecycle-host.js'
import { recoveryUrl } from './url.js'

const NEVER = Number.POSITIVE_INFINITY
/** At a hub that answers no pings, a socket that stays open for this long has recovered its session, ms. Half the time there is, if that is less. */
const TRUSTED_AFTER = 1_000
/** An attempt that hangs may not outlast the time for which a hub keeps a session when the network is back, ms. */
const LONGEST_RECOVERY_ATTEMPT = 4_000
/** On so many links in a row pings are left unanswered before the hub is believed to know none: each may be half-open. */
const LINKS_TO_TELL = 3
/** Codes with which a hub may close that takes a ping for a violation (RFC 6455, section 7.4.1). */
const VIOLATIONS = [1002, 1003, 1007]
const POLICY = 1008

/**
 * Attempts to connect, one after the other, and whether the socket of the latest is alive: all steps of an attempt
 * together have a time limit, and a link that is up has to be heard from. A silent link is asked before it is given up,
 * for timers stand still while a computer sleeps. Pure; times in ms.
 *
 * Not every hub answers pings: they are younger than the reliable subprotocols. A hub that left them unanswered on three
 * links, each of which may have been half-open, is taken to answer none, and its silence means nothing unless it owes an
 * answer to a request.
 */
export class ClientLink {
  /** What the hub said before it closes. */
  farewell = ''
  readonly #settings: MachineSettings
  readonly #act: (action: Action) => void
  #number = 0
  #url = ''
  #stage: 'none' | 'url' | 'opening' | 'proving' | 'up' = 'none'
  /** When the attempt has failed. */
  #endsAt = NEVER
  #heardAt = 0
  #pingedAt: number | undefined
  #trustedAt = NEVER
  /** Links on which a ping was left unanswered. */
  #unanswered = 0
  /** What the hub makes of pings. */
  #pings: 'unknown' | 'doubted' | 'answered' | 'ignored' | 'refused' = 'unknown'

  /** @param act - does something about the socket */
  constructor(settings: MachineSettings, act: (action: Action) => void) {
    this.#settings = settings
    this.#act = act
  }

  get stage(): 'none' | 'url' | 'opening' | 'proving' | 'up' {
    return this.#stage
  }

  /** When the last frame came. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Whether the hub is known to answer pings. */
  get answersPings(): boolean {
    return this.#pings === 'answered'
  }

  /** Whether the hub is known to answer none. */
  get ignoresPings(): boolean {
    return this.#pings === 'ignored' || this.#pings === 'refused'
  }

  /** Whether another ping would tell little: earlier ones were not answered. */
  get leftUnanswered(): boolean {
    return this.#pings === 'doubted' || this.ignoresPings
  }

  /** When {@link check} has something to say. */
  get deadline(): number {
    if (this.#stage === 'none') return NEVER
    if (this.#stage === 'up') return (this.#pingedAt ?? this.#heardAt) + this.#settings.keepAlive / 2
    return Math.min(this.#endsAt, this.#trustedAt)
  }

  /** Another attempt begins, with a fresh URL. */
  askForUrl(now: number): void {
    this.#begin('url', now, this.#settings.connectTimeout)
    this.#act({ type: 'fetchUrl', link: this.#number })
  }

  /** The URL is there. */
  open(url: string, now: number): void {
    this.#url = url
    this.advance('opening', now)
    this.#act({ type: 'open', link: this.#number, url })
  }

  /** Another attempt begins, to go on with a session. */
  reopen({ connectionId, reconnectionToken: token = '' }: Connected, now: number): void {
    this.#begin('opening', now, Math.min(this.#settings.connectTimeout, LONGEST_RECOVERY_ATTEMPT))
    this.#act({ type: 'open', link: this.#number, url: recoveryUrl(this.#url, { connectionId, token }) })
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
    this.#pingedAt = undefined
  }

  /** Asks the hub for a sign of life, unless it takes that for a violation. */
  ping(now: number): void {
    this.#pingedAt ??= now
    if (this.#pings !== 'refused') {
      this.#act({ type: 'transmit', data: this.#settings.codec.encode({ type: 'ping' }) })
    }
  }

  /** The hub has answered a ping. */
  ponged(): void {
    this.#pings = 'answered'
  }

  /** The hub has not answered in time: it knows no pings, or the link is half-open, which the next ones tell. */
  unanswered(): void {
    if (this.#pings !== 'unknown' && this.#pings !== 'doubted') return
    this.#unanswered++
    this.#pings = this.#unanswered < LINKS_TO_TELL ? 'doubted' : 'ignored'
  }

  /** The socket is open again, and no frame may come to say so. */
  trust(now: number): void {
    const { connectTimeout, recoveryWindow } = this.#settings
    this.#trustedAt = now + Math.min(TRUSTED_AFTER, connectTimeout / 2, recoveryWindow / 2)
  }

  /** What the deadline means. */
  check(now: number): 'ping' | 'silent' | 'dead' | 'trusted' | undefined {
    if (this.deadline > now) return undefined
    if (this.#stage !== 'up') return this.#trustedAt <= now ? 'trusted' : 'dead'
    if (this.#pingedAt === undefined) return 'ping'
    return this.ignoresPings ? 'silent' : 'dead'
  }

  /** The other side closed the socket: over a ping, if it was the first and such is the code. */
  closed(code: number): void {
    if (!['unknown', 'doubted'].includes(this.#pings) || this.#pingedAt === undefined) return
    // Before the link is up this one says that there is no such session.
    if (VIOLATIONS.includes(code) || (code === POLICY && this.#stage === 'up')) this.#pings = 'refused'
  }

  /** The socket is gone. */
  drop(): void {
    this.#stage = 'none'
    this.#pingedAt = undefined
  }

  /** Closes the socket; without a code unless the session is to end, for 1000 makes the hub forget it. */
  abandon(code?: number): void {
    if (this.#stage !== 'none' && this.#stage !== 'url') this.#act({ type: 'close', code })
    this.drop()
  }

  #begin(stage: 'url' | 'opening', now: number, patience: number): void {
    this.#number++
    this.#stage = stage
    this.#endsAt = now + patience
    this.#trustedAt = NEVER
    this.farewell = ''
  }
}
