import { Link } from '../../harness/link.js'
import type { Random } from '../../harness/random.js'

/** Links from each of several sources to each of several targets. */
export class Mesh {
  #links: readonly (readonly (Link | undefined)[])[]

  /**
   * @param count - number of sources
   * @param ports - ports of the targets
   * @param isAmongThem - whether sources and targets are the same members, which need no links to themselves
   */
  constructor(count: number, ports: readonly number[], random: Random, isAmongThem: boolean = false) {
    this.#links = Array.from({ length: count }, (_, from) =>
      ports.map((port, to) => (isAmongThem && from === to ? undefined : new Link(port, random.fork()))),
    )
  }

  get links() {
    return this.#links.flat().filter(link => link !== undefined)
  }

  /** Returns the links from one source. */
  from(from: number) {
    return (this.#links[from] ?? []).filter(link => link !== undefined)
  }

  /** Returns the links to one target. */
  to(to: number) {
    return this.#links.map(links => links[to]).filter(link => link !== undefined)
  }

  /** Returns the links between two members, in both directions. */
  between(one: number, other: number) {
    return [this.#links[one]?.[other], this.#links[other]?.[one]].filter(link => link !== undefined)
  }

  /** Starts all links. Returns the ports to which each source has to connect. */
  listen(): Promise<number[][]> {
    return Promise.all(
      this.#links.map(links => Promise.all(links.filter(link => link !== undefined).map(link => link.listen()))),
    )
  }

  async close() {
    for (const link of this.links) await link.close()
  }
}
