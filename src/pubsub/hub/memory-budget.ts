import { unlessRunning } from '../../core/util/deferred-tasks.js'

/** The approximate overhead in bytes of a message or event. */
const OVERHEAD_BYTES = 128
/** The maximum share of the budget for data held for a single owner. */
const MAX_OWNER_SHARE = 1 / 8
/** The share of the budget that may remain in use after an eviction. */
const EVICTION_TARGET = 15 / 16

export interface MemoryCharge {
  readonly size: number
  holderCount: number
}

export const chargedBytesPerHolder = ({ size, holderCount: holders }: MemoryCharge): number =>
  (size + OVERHEAD_BYTES) / Math.max(1, holders)

/**
 * Limits the bytes that a server keeps for all its sessions. A message kept for several sessions counts once, and each
 * session is charged a share. Data held for a single owner, such as memberships, is limited to an eighth of the budget.
 * When the budget is exceeded, sessions are evicted.
 *
 * @example
 * ```ts
 * const budget = new MemoryBudget(256 * 1024 * 1024, enough =>
 *   endSessionsOfHeaviestUsersUntil(enough),
 * )
 * budget.keep(message)
 * budget.enforce()
 * ```
 */
export class MemoryBudget {
  readonly #limit: number
  readonly #ownedBytes = new Map<string, number>()
  /** Evicts sessions. An application that is notified of an ended session may send messages, which calls this again. */
  readonly #evict: () => void
  #usedBytes = 0

  /**
   * @param limit - bytes
   * @param evict - ends sessions, those of the heaviest owners first, until `isEnough` returns true
   */
  constructor(limit: number, evict: (isEnough: () => boolean) => void) {
    this.#limit = limit
    this.#evict = unlessRunning(() => evict(() => this.#usedBytes <= this.#limit * EVICTION_TARGET))
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  addHolder(charge: MemoryCharge): void {
    if (charge.holderCount++ === 0) this.#usedBytes += charge.size + OVERHEAD_BYTES
  }

  removeHolder(charge: MemoryCharge): void {
    if (--charge.holderCount === 0) this.#usedBytes -= charge.size + OVERHEAD_BYTES
  }

  hasRoomFor(owner: string, bytes: number): boolean {
    return (this.#ownedBytes.get(owner) ?? 0) + bytes <= this.#limit * MAX_OWNER_SHARE
  }

  /** Adds bytes held for a single owner. A negative number releases bytes. */
  adjustOwned(owner: string, bytes: number): void {
    const owned = (this.#ownedBytes.get(owner) ?? 0) + bytes
    if (owned === 0) this.#ownedBytes.delete(owner)
    else this.#ownedBytes.set(owner, owned)
    this.#usedBytes += bytes
  }

  enforce(): void {
    if (this.#usedBytes > this.#limit) this.#evict()
  }
}

export const unlimitedBudget = (): MemoryBudget => new MemoryBudget(Number.POSITIVE_INFINITY, () => undefined)
