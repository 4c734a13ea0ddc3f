import { Link } from '../proxy.js'
import type { Random } from '../random.js'

/** Cables from each of some to each of others. */
export class Mesh {
  #links: readonly (readonly (Link | undefined)[])[]

  /**
   * @param count - of those they come from
   * @param ports - of those they lead to
   * @param isAmongThem - whether they are the same, and nobody needs a cable to itself
   */
  constructor(count: number, ports: readonly number[], random: Random, isAmongThem: boolean = false) {
    this.#links = Array.from({ length: count }, (_, from) =>
      ports.map((port, to) => (isAmongThem && from === to ? undefined : new Link(port, random.fork()))),
    )
  }

  /** All of them. */
  get links() {
    return this.#links.flat().filter(link => link !== undefined)
  }

  /** Those that come from one. */
  from(from: number) {
    return (this.#links[from] ?? []).filter(link => link !== undefined)
  }

  /** Those that lead to one. */
  to(to: number) {
    return this.#links.map(links => links[to]).filter(link => link !== undefined)
  }

  /** Those between two, either way. */
  between(one: number, other: number) {
    return [this.#links[one]?.[other], this.#links[other]?.[one]].filter(link => link !== undefined)
  }

  /** Where each has to connect to, by who it is. */
  listen(): Promise<number[][]> {
    return Promise.all(
      this.#links.map(links => Promise.all(links.filter(link => link !== undefined).map(link => link.listen()))),
    )
  }

  async close() {
    for (const link of this.links) await link.close()
  }
}

/** Lets nothing through any more, as when a cable is pulled: nobody is told. */
export function pull(links: readonly Link[]) {
  for (const link of links) {
    link.change('up', { stalled: true })
    link.change('down', { stalled: true })
  }
}

/**
 * Ends all connections, and lets none come about.
 *
 * @returns of those that were there
 */
export function sever(links: readonly Link[]): number {
  for (const link of links) link.refuse(true)
  return links.reduce((count, link) => count + link.cut(), 0)
}

export function heal(links: readonly Link[]) {
  for (const link of links) link.heal()
}
