/** With what a glob begins, and its words; negative when they are taken off. */
export interface GlobWords {
  readonly prefix: string
  readonly words: number
}

/** Globs of an owner that begin with the same bytes. */
interface Link {
  words: number
  /** Words of these globs, and of those that begin with less of the same bytes. */
  chain: number
}

/**
 * What a change of a key is compared with at most of the globs of one owner: a key fits the beginnings of `*`, `a*`, `ab*` and
 * so on at the same time, and each of them may have as many globs as may begin alike.
 */
export class GlobChains {
  readonly #links = new Map<string, Link>()

  /** Whether there are no globs. */
  get isEmpty(): boolean {
    return this.#links.size === 0
  }

  /** Most words along any key that fits a beginning, if so many more begin like that. */
  mostWith(prefix: string, words: number): number {
    let most = this.#links.get(prefix)?.chain ?? this.#above(prefix)
    for (const { chain } of this.#below(prefix)) most = Math.max(most, chain)
    return most + words
  }

  /** Counts words that begin like that; negative ones are taken off. */
  add(prefix: string, words: number): void {
    const link = this.#links.get(prefix) ?? { words: 0, chain: this.#above(prefix) }
    this.#links.set(prefix, link)
    link.words += words
    link.chain += words
    for (const longer of this.#below(prefix)) longer.chain += words
    if (link.words === 0) this.#links.delete(prefix)
  }

  /** As {@link add} for many at once: one after the other they would take the square of their number. */
  addAll(globs: Iterable<GlobWords>): void {
    for (const { prefix, words } of globs) {
      const link = this.#links.get(prefix) ?? { words: 0, chain: 0 }
      this.#links.set(prefix, link)
      link.words += words
      if (link.words === 0) this.#links.delete(prefix)
    }
    for (const [prefix, link] of this.#links) link.chain = this.#above(prefix) + link.words
  }

  #above(prefix: string): number {
    let words = 0
    for (let length = 0; length < prefix.length; length++) words += this.#links.get(prefix.slice(0, length))?.words ?? 0
    return words
  }

  *#below(prefix: string): Iterable<Link> {
    for (const [other, link] of this.#links) if (other.length > prefix.length && other.startsWith(prefix)) yield link
  }
}
