/** What of a store one owner has. */
export interface Share {
  readonly keys: number
  /** Bytes. */
  readonly bytes: number
}

const NOTHING: Share = { keys: 0, bytes: 0 }

/** Counts what is whose. It follows from the records, so that equal states have equal shares. */
export class Shares {
  readonly #shares = new Map<string, { keys: number; bytes: number }>()

  /** What an owner has. */
  of(owner: string): Share {
    return this.#shares.get(owner) ?? NOTHING
  }

  /** Owners, and what each has. */
  entries(): Iterable<readonly [owner: string, share: Share]> {
    return this.#shares
  }

  /** A key is an owner's from now on. */
  add(owner: string, bytes: number): void {
    const share = this.#shares.get(owner)
    if (share === undefined) {
      this.#shares.set(owner, { keys: 1, bytes })
      return
    }
    share.keys++
    share.bytes += bytes
  }

  /** A key of an owner is gone, or somebody else's. */
  remove(owner: string, bytes: number): void {
    const share = this.#shares.get(owner)
    if (share === undefined) return
    share.keys--
    share.bytes -= bytes
    if (share.keys === 0) this.#shares.delete(owner)
  }
}
