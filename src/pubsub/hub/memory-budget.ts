/** About what a message or an event takes besides its bytes, bytes. */
const OVERHEAD = 128
/** The part of the budget that what one user alone makes the server hold may take. */
const USER_SHARE = 1 / 8
/** When it is exceeded, sessions end until so much of the budget is used. */
const ENOUGH = 15 / 16

/** Something that is kept for one or more sessions. */
export interface MemoryCharge {
  /** Bytes. */
  readonly size: number
  /** How many sessions it is kept for. */
  holders: number
}

/** The part of what is kept that one of its holders accounts for, bytes. */
export const shareOf = ({ size, holders }: MemoryCharge): number => (size + OVERHEAD) / Math.max(1, holders)

/**
 * What a server keeps for all its sessions together, in bytes. A message that several sessions wait for takes memory once
 * and counts once, and each of them accounts for a part of it. What a user makes the server hold for it alone, such as
 * memberships, is limited to an eighth of the budget. Beyond the whole budget sessions end.
 *
 * @example
 * ```ts
 * const budget = new MemoryBudget(256 * 1024 * 1024, enough => endSessionsOfHeaviestUsersUntil(enough))
 * budget.keep(message)
 * budget.enforce()
 * ```
 */
export class MemoryBudget {
  readonly #limit: number
  readonly #relieve: (isEnough: () => boolean) => void
  /** What each owner holds alone. */
  readonly #owned = new Map<string, number>()
  #used = 0
  #isRelieving = false

  /**
   * @param limit - bytes
   * @param relieve - ends sessions, those of the users first that account for most, until it is enough
   */
  constructor(limit: number, relieve: (isEnough: () => boolean) => void) {
    this.#limit = limit
    this.#relieve = relieve
  }

  /** Bytes that are kept now. */
  get used(): number {
    return this.#used
  }

  /** Counts something for one more session. */
  keep(kept: MemoryCharge): void {
    if (kept.holders++ === 0) this.#used += kept.size + OVERHEAD
  }

  /** Counts something for one session less. */
  release(kept: MemoryCharge): void {
    if (--kept.holders === 0) this.#used -= kept.size + OVERHEAD
  }

  /** Whether an owner may hold so many bytes more. */
  hasRoomFor(owner: string, bytes: number): boolean {
    return (this.#owned.get(owner) ?? 0) + bytes <= this.#limit * USER_SHARE
  }

  /** Counts bytes that are held for an owner alone, or, negative, are not held any longer. */
  hold(owner: string, bytes: number): void {
    const owned = (this.#owned.get(owner) ?? 0) + bytes
    if (owned === 0) this.#owned.delete(owner)
    else this.#owned.set(owner, owned)
    this.#used += bytes
  }

  /** Ends sessions if more is kept than fits. */
  enforce(): void {
    // A listener that is notified of the end of a session may send, and so come back here.
    if (this.#used <= this.#limit || this.#isRelieving) return
    this.#isRelieving = true
    try {
      this.#relieve(() => this.#used <= this.#limit * ENOUGH)
    } finally {
      this.#isRelieving = false
    }
  }
}

/** For an engine on its own. */
export const unlimited = (): MemoryBudget => new MemoryBudget(Number.POSITIVE_INFINITY, () => undefined)
