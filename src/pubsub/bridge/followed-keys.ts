/** Memberships in groups of keys that one user may have with all its sessions. */
const MAX_PER_USER = 10_000

/** A session of a hub: of a user, or alone. */
interface Follower {
  readonly connectionId: string
  readonly userId: string | undefined
}

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
    this.#byUser.set(userOf(follower), this.#countOf(follower) + 1)
  }

  remove(follower: Follower): void {
    const count = this.#countOf(follower) - 1
    if (count > 0) this.#byUser.set(userOf(follower), count)
    else this.#byUser.delete(userOf(follower))
  }

  #countOf(follower: Follower): number {
    return this.#byUser.get(userOf(follower)) ?? 0
  }
}

/** A user id may look like a connection's. */
const userOf = ({ connectionId, userId }: Follower): string =>
  userId === undefined ? `connection ${connectionId}` : `user ${userId}`
