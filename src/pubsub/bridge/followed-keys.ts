import type { Connection } from '../hub/identity.js'

/** Memberships in groups of keys that one user may have with all its sessions. */
const MAX_PER_USER = 10_000

/** A session of a hub; all without a user at one address have one owner. */
type Follower = Pick<Connection, 'owner'>

/**
 * How many keys each user follows through a bridge. At the store all of a bridge's watches are one principal's, whose quota
 * one user could use up otherwise.
 */
export class FollowedKeys {
  readonly #maxPerUser: number
  readonly #byUser = new Map<string, number>()

  /** @param maxPerUser - memberships */
  constructor(maxPerUser: number = MAX_PER_USER) {
    this.#maxPerUser = maxPerUser
  }

  /** Whether a user may follow no more. */
  isFullFor(follower: Follower): boolean {
    return this.#countOf(follower) >= this.#maxPerUser
  }

  add(follower: Follower): void {
    this.#byUser.set(follower.owner, this.#countOf(follower) + 1)
  }

  remove(follower: Follower): void {
    const count = this.#countOf(follower) - 1
    if (count > 0) this.#byUser.set(follower.owner, count)
    else this.#byUser.delete(follower.owner)
  }

  #countOf(follower: Follower): number {
    return this.#byUser.get(follower.owner) ?? 0
  }
}
