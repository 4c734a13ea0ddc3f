/** Times of a link, ms. */
export interface LinkSettings {
  /** From the beginning of an attempt to the hub's first frame. */
  readonly connectTimeout: number
  /** Silence after which a link is dead; after half of it the hub is asked for a sign of life. */
  readonly keepAlive: number
}

const NEVER = Number.POSITIVE_INFINITY

/**
 * One attempt to connect after the other, and whether its socket is alive: every step of an attempt together has to fit
 * its time, and a link that is up has to be heard. A link that was only late to be looked at is asked before it is given
 * up, for timers stand still in a computer that sleeps. Pure; times in ms.
 */
export class Link {
  /** What the hub said before it closes. */
  farewell = ''
  readonly #settings: LinkSettings
  #number = 0
  #stage: 'none' | 'url' | 'opening' | 'proving' | 'up' = 'none'
  /** When the attempt has failed. */
  #endsAt = NEVER
  #heardAt = 0
  #pingedAt: number | undefined

  constructor(settings: LinkSettings) {
    this.#settings = settings
  }

  /** The number of the latest attempt. */
  get number(): number {
    return this.#number
  }

  get stage(): 'none' | 'url' | 'opening' | 'proving' | 'up' {
    return this.#stage
  }

  /** When the last frame came. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** When {@link check} has something to say. */
  get deadline(): number {
    if (this.#stage === 'none') return NEVER
    return this.#stage === 'up' ? (this.#pingedAt ?? this.#heardAt) + this.#settings.keepAlive / 2 : this.#endsAt
  }

  /** Another attempt begins, with or without asking for its URL first. */
  begin(stage: 'url' | 'opening', now: number): void {
    this.#number++
    this.#stage = stage
    this.#endsAt = now + this.#settings.connectTimeout
    this.farewell = ''
  }

  /** Whether something belongs to the attempt, which is at one of these stages. */
  isAt(number: number, ...stages: readonly Link['stage'][]): boolean {
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

  /** The hub is asked for a sign of life. */
  pinged(now: number): void {
    this.#pingedAt ??= now
  }

  /** What the deadline means. */
  check(now: number): 'ping' | 'dead' | undefined {
    if (this.deadline > now) return undefined
    return this.#stage === 'up' && this.#pingedAt === undefined ? 'ping' : 'dead'
  }

  /** The socket is gone, or given up. */
  drop(): void {
    this.#stage = 'none'
    this.#pingedAt = undefined
  }
}
