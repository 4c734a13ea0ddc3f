import { now } from '../now.js'

/** How long clients wait for an answer when their node, or the leader of the stream, has ended. */
export class Takeovers {
  #nodes: number[] = []
  #leaders: number[] = []
  /** Clients whose node has ended, and since when, monotonic ms. */
  #waiting: Map<string, number> = new Map()
  #leaderless: number | undefined

  /**
   * A node has ended, or will at once.
   *
   * @param clients - that are connected to it
   */
  node(clients: readonly string[]) {
    for (const client of clients) if (!this.#waiting.has(client)) this.#waiting.set(client, now())
  }

  /** The leader of the stream has ended. */
  leader() {
    this.#leaderless ??= now()
  }

  /**
   * A request was answered.
   *
   * @param invoked - when it was asked for
   */
  answered(client: string, invoked: number) {
    const since = this.#waiting.get(client)
    if (since !== undefined && invoked >= since) {
      this.#waiting.delete(client)
      this.#nodes.push(now() - since)
    }
    if (this.#leaderless !== undefined && invoked >= this.#leaderless) {
      this.#leaders.push(now() - this.#leaderless)
      this.#leaderless = undefined
    }
  }

  /** For people: of clients whose node has ended, and of all when the leader has. */
  get words() {
    return { nodes: wordsOf(this.#nodes), leaders: wordsOf(this.#leaders) }
  }
}

function wordsOf(times: readonly number[]) {
  const inOrder = [...times].sort((a, b) => a - b)
  const [median, most] = [inOrder[Math.floor(inOrder.length / 2)], inOrder.at(-1)]
  if (median === undefined || most === undefined) return 'none'
  return `${(median / 1000).toFixed(2)} s, ${(most / 1000).toFixed(2)} s (${inOrder.length})`
}
