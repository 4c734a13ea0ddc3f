import type { GlobMember } from './glob-member.js'

/** So many are remembered at most; of few keys a part. */
const MOST = 1_000
/** So many are looked at in one go, lest those that have to stay make every change dear. */
const LOOKED_AT = 8

/** The keys of a glob that there are no more, in the order they went, so that nothing older is told of them. */
export class GoneMembers {
  readonly #members = new Set<GlobMember>()

  get size(): number {
    return this.#members.size
  }

  add(member: GlobMember): void {
    this.#members.add(member)
  }

  delete(member: GlobMember): void {
    this.#members.delete(member)
  }

  /** Has the oldest forgotten when there are many; those that have to stay are asked for again behind all others. */
  trim(maxKeys: number, forget: (member: GlobMember) => boolean): void {
    const most = Math.min(MOST, Math.ceil(maxKeys / 4))
    for (let looked = 0; looked < LOOKED_AT && this.#members.size > most; looked++) {
      const [oldest] = this.#members
      if (oldest === undefined) return
      this.#members.delete(oldest)
      if (!forget(oldest)) this.#members.add(oldest)
    }
  }
}
