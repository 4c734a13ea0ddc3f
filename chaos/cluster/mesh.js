import { Link } from '../proxy.js'

/** Cables from each of some to each of others. */
export class Mesh {
  /** @type {readonly (readonly (Link | undefined)[])[]} */
  #links

  /**
   * @param {number} count - of those they come from
   * @param {readonly number[]} ports - of those they lead to
   * @param {import('../random.js').Random} random
   * @param {boolean} [isAmongThem] - whether they are the same, and nobody needs a cable to itself
   */
  constructor(count, ports, random, isAmongThem = false) {
    this.#links = Array.from({ length: count }, (_, from) =>
      ports.map((port, to) => (isAmongThem && from === to ? undefined : new Link(port, random.fork()))),
    )
  }

  /** All of them. */
  get links() {
    return this.#links.flat().filter(link => link !== undefined)
  }

  /**
   * Those that come from one.
   *
   * @param {number} from
   */
  from(from) {
    return (this.#links[from] ?? []).filter(link => link !== undefined)
  }

  /**
   * Those that lead to one.
   *
   * @param {number} to
   */
  to(to) {
    return this.#links.map(links => links[to]).filter(link => link !== undefined)
  }

  /**
   * Those between two, either way.
   *
   * @param {number} one
   * @param {number} other
   */
  between(one, other) {
    return [this.#links[one]?.[other], this.#links[other]?.[one]].filter(link => link !== undefined)
  }

  /** Where each has to connect to, by who it is. @returns {Promise<number[][]>} */
  listen() {
    return Promise.all(
      this.#links.map(links => Promise.all(links.filter(link => link !== undefined).map(link => link.listen()))),
    )
  }

  async close() {
    for (const link of this.links) await link.close()
  }
}

/**
 * Lets nothing through any more, as when a cable is pulled: nobody is told.
 *
 * @param {readonly Link[]} links
 */
export function pull(links) {
  for (const link of links) {
    link.change('up', { stalled: true })
    link.change('down', { stalled: true })
  }
}

/**
 * Ends all connections, and lets none come about.
 *
 * @param {readonly Link[]} links
 * @returns {number} of those that were there
 */
export function sever(links) {
  for (const link of links) link.refuse(true)
  return links.reduce((count, link) => count + link.cut(), 0)
}

/** @param {readonly Link[]} links */
export function heal(links) {
  for (const link of links) link.heal()
}
