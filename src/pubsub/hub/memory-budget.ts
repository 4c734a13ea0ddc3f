/** About what a message or an event takes besides its bytes, bytes. */
const OVERHEAD = 128

/** Something that is kept for one or more sessions. */
export interface Kept {
  /** Bytes. */
  readonly size: number
  /** How many sessions it is kept for. */
  holders: number
}

/**
 * What a server keeps for all its sessions together: bytes, and 128 more for each piece. A message that several sessions
 * wait for takes memory once and counts once. When it becomes too much, sessions are ended until it is not.
 *
 * @example
 * ```ts
 * const budget = new MemoryBudget(256 * 1024 * 1024, () => endHeaviestSession())
 * budget.keep(message)
 * budget.enforce()
 * ```
 */
export class MemoryBudget {
  readonly #limit: number
  readonly #endHeaviest: () => boolean
  #used = 0

  /**
   * @param limit - bytes
   * @param endHeaviest - ends the session for which most is kept; `false` when there is none
   */
  constructor(limit: number, endHeaviest: () => boolean) {
    this.#limit = limit
    this.#endHeaviest = endHeaviest
  }

  /** Bytes that are kept now. */
  get used(): number {
    return this.#used
  }

  /** Counts something for one more session. */
  keep(kept: Kept): void {
    if (kept.holders++ === 0) this.#used += kept.size + OVERHEAD
  }

  /** Counts something for one session less. */
  release(kept: Kept): void {
    if (--kept.holders === 0) this.#used -= kept.size + OVERHEAD
  }

  /** Ends sessions until what is kept fits. */
  enforce(): void {
    while (this.#used > this.#limit && this.#endHeaviest());
  }
}

/** For an engine on its own. */
export const unlimited = (): MemoryBudget => new MemoryBudget(Number.POSITIVE_INFINITY, () => false)
