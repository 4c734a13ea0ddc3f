/** The approximate overhead in bytes of a message or event. */
const OVERHEAD_BYTES = 128
/** The maximum share of the budget for data held for a single owner. */
const MAX_OWNER_SHARE = 1 / 8

/** Data that several holders share. */
export interface MemoryCharge {
  readonly size: number
  holderCount: number
}

export const chargedBytesPerHolder = ({ size, holderCount: holders }: MemoryCharge): number =>
  (size + OVERHEAD_BYTES) / Math.max(1, holders)

/**
 * A memory budget in bytes, shared by all clients of a server. The budget only counts, and denies a reservation that
 * would exceed the limit. Data with several holders counts once. Data held for a single owner, such as memberships, is
 * limited to an eighth of the budget.
 *
 * @example
 * ```ts
 * const budget = new MemoryBudget(1_000_000)
 * if (!budget.tryReserve(payload.length)) reject()
 * ```
 */
export class MemoryBudget {
  readonly limit: number
  readonly #onExceeded: () => void
  readonly #evict: () => void
  readonly #ownedBytes = new Map<string, number>()
  #used = 0

  /**
   * @param evict - called by {@link enforce} while the limit is exceeded
   * @param onExceeded - called each time the limit is exceeded, from within the call that exceeds it
   */
  constructor(
    limit = Number.POSITIVE_INFINITY,
    evict: () => void = () => undefined,
    onExceeded: () => void = () => undefined,
  ) {
    this.limit = limit
    this.#evict = evict
    this.#onExceeded = onExceeded
  }

  get used(): number {
    return this.#used
  }

  get isExceeded(): boolean {
    return this.#used > this.limit
  }

  hasRoomFor(bytes: number): boolean {
    return this.#used + bytes <= this.limit
  }

  /** Reserves bytes unless they would exceed the limit. Returns whether the bytes are reserved. */
  tryReserve(bytes: number): boolean {
    if (!this.hasRoomFor(bytes)) {
      this.#onExceeded()
      return false
    }
    this.#used += bytes
    return true
  }

  /** Counts bytes that are already in use. A negative number releases bytes. */
  adjust(bytes: number): void {
    this.#used += bytes
    if (bytes > 0 && this.#used > this.limit) this.#onExceeded()
  }

  release(bytes: number): void {
    this.#used -= bytes
  }

  addHolder(charge: MemoryCharge): void {
    if (charge.holderCount++ === 0) this.adjust(charge.size + OVERHEAD_BYTES)
  }

  removeHolder(charge: MemoryCharge): void {
    if (--charge.holderCount === 0) this.release(charge.size + OVERHEAD_BYTES)
  }

  hasOwnerRoomFor(owner: string, bytes: number): boolean {
    return (this.#ownedBytes.get(owner) ?? 0) + bytes <= this.limit * MAX_OWNER_SHARE
  }

  /** Adds bytes held for a single owner. A negative number releases bytes. */
  adjustOwned(owner: string, bytes: number): void {
    const owned = (this.#ownedBytes.get(owner) ?? 0) + bytes
    if (owned === 0) this.#ownedBytes.delete(owner)
    else this.#ownedBytes.set(owner, owned)
    this.adjust(bytes)
  }

  /** Ends what holds memory if the limit is exceeded. Call this method when the current operation is complete. */
  enforce(): void {
    if (this.isExceeded) this.#evict()
  }
}
