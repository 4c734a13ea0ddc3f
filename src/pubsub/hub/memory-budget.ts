/** Approximate overhead of a message or event, bytes. */
const OVERHEAD = 128
/** Maximum share of the budget for data held for one owner alone. */
const USER_SHARE = 1 / 8
/** Eviction continues until this share of the budget is used. */
const ENOUGH = 15 / 16

/** Data kept for one or more sessions. */
export interface MemoryCharge {
  readonly size: number
  /** Number of sessions it is kept for. */
  holders: number
}

/** Bytes charged to each holder. */
export const shareOf = ({ size, holders }: MemoryCharge): number => (size + OVERHEAD) / Math.max(1, holders)

/**
 * Memory that a server keeps for all its sessions, in bytes. A message kept for several sessions counts once, and each
 * session is charged a share. Data held for one owner alone, such as memberships, is limited to an eighth of the
 * budget. When the budget is exceeded, sessions are evicted.
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
  /** Bytes held for each owner alone. */
  readonly #owned = new Map<string, number>()
  #used = 0
  #isRelieving = false

  /**
   * @param limit - bytes
   * @param evict - ends sessions, those of the heaviest owners first, until it is enough
   */
  constructor(limit: number, relieve: (isEnough: () => boolean) => void) {
    this.#limit = limit
    this.#relieve = relieve
  }

  get used(): number {
    return this.#used
  }

  /** Adds a holder. */
  keep(kept: MemoryCharge): void {
    if (kept.holders++ === 0) this.#used += kept.size + OVERHEAD
  }

  /** Removes a holder. */
  release(kept: MemoryCharge): void {
    if (--kept.holders === 0) this.#used -= kept.size + OVERHEAD
  }

  /** Returns whether an owner may hold this many more bytes. */
  hasRoomFor(owner: string, bytes: number): boolean {
    return (this.#owned.get(owner) ?? 0) + bytes <= this.#limit * USER_SHARE
  }

  /** Adds bytes held for an owner alone; negative to release them. */
  hold(owner: string, bytes: number): void {
    const owned = (this.#owned.get(owner) ?? 0) + bytes
    if (owned === 0) this.#owned.delete(owner)
    else this.#owned.set(owner, owned)
    this.#used += bytes
  }

  /** Evicts sessions if the budget is exceeded. */
  enforce(): void {
    // A listener notified of an ended session may send, which calls this method again.
    if (this.#used <= this.#limit || this.#isRelieving) return
    this.#isRelieving = true
    try {
      this.#relieve(() => this.#used <= this.#limit * ENOUGH)
    } finally {
      this.#isRelieving = false
    }
  }
}

export const unlimited = (): MemoryBudget => new MemoryBudget(Number.POSITIVE_INFINITY, () => undefined)
