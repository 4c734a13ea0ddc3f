/** Bytes that all pending writes together may cost. */
const MAX_BYTES = 128 * 1024 * 1024
/** Of one connection. */
const MAX_CONNECTION_BYTES = 16 * 1024 * 1024
const MAX_CONNECTION_WRITES = 1_000

/** A write without a result. */
export interface PendingWrite {
  readonly connectionId: string
  /** Its user, or the address of a connection without a user. */
  readonly owner: string
  /** What it takes, bytes. */
  readonly cost: number
  /** Gives it up to make room for another user. */
  readonly cancel: () => void
}

/** The pending writes of one user, or of one connection, in their order. */
class Usage {
  readonly writes = new Set<PendingWrite>()
  cost = 0
}

const NONE: Pick<Usage, 'cost'> & { readonly writes: ReadonlySet<PendingWrite> } = new Usage()

/**
 * Writes that have no result yet, of which there are many when the store is away, bounded by what they cost. When it is too
 * much, the user with most of it gives up its newest writes, unless that is the one that asks for more.
 *
 * @example
 * ```ts
 * if (pending.tryAdd(write)) result$.pipe(finalize(() => pending.remove(write))).subscribe()
 * ```
 */
export class PendingWrites {
  readonly #maxCost: number
  readonly #byConnection = new Map<string, Usage>()
  readonly #byUser = new Map<string, Usage>()
  #cost = 0

  /** @param maxCost - of all together, bytes */
  constructor(maxCost: number = MAX_BYTES) {
    this.#maxCost = maxCost
  }

  /** What all take now, bytes. */
  get cost(): number {
    return this.#cost
  }

  /** Adds a write; `false` if there is no room for it. */
  tryAdd(write: PendingWrite): boolean {
    const { writes, cost } = this.#byConnection.get(write.connectionId) ?? NONE
    if (writes.size >= MAX_CONNECTION_WRITES || cost + write.cost > MAX_CONNECTION_BYTES) return false
    if (!this.#makeRoom(write)) return false
    this.#cost += write.cost
    add(this.#byConnection, write.connectionId, write)
    add(this.#byUser, write.owner, write)
    return true
  }

  /** Removes a write that has a result, or was given up. */
  remove(write: PendingWrite): void {
    if (!this.#byConnection.get(write.connectionId)?.writes.has(write)) return
    this.#cost -= write.cost
    remove(this.#byConnection, write.connectionId, write)
    remove(this.#byUser, write.owner, write)
  }

  #makeRoom(write: PendingWrite): boolean {
    while (this.#cost + write.cost > this.#maxCost) {
      const heaviest = this.#heaviest()
      const own = this.#byUser.get(write.owner) ?? NONE
      if (heaviest.cost <= own.cost + write.cost) return false
      const newest = Array.from(heaviest.writes).at(-1)
      if (newest === undefined) return false
      this.remove(newest)
      newest.cancel()
    }
    return true
  }

  #heaviest(): typeof NONE {
    let heaviest: typeof NONE = NONE
    for (const usage of this.#byUser.values()) if (usage.cost > heaviest.cost) heaviest = usage
    return heaviest
  }
}

function add(usages: Map<string, Usage>, owner: string, write: PendingWrite): void {
  const usage = usages.get(owner) ?? new Usage()
  usages.set(owner, usage)
  usage.writes.add(write)
  usage.cost += write.cost
}

function remove(usages: Map<string, Usage>, owner: string, write: PendingWrite): void {
  const usage = usages.get(owner)
  if (!usage?.writes.delete(write)) return
  usage.cost -= write.cost
  if (usage.writes.size === 0) usages.delete(owner)
}
