import { now } from '../now.js'

/** Measures the time that clients wait for a response after their node or the leader of the stream has ended. */
export class TakeoverTimes {
  #nodes: number[] = []
  #leaders: number[] = []
  /** The clients whose node has ended, with the time in monotonic ms. */
  #waiting: Map<string, number> = new Map()
  #leaderless: number | undefined

  /**
   * Records that a node has ended or is about to end.
   *
   * @param clients - clients that are connected to the node
   */
  recordNodeEnd(clients: readonly string[]) {
    for (const client of clients) if (!this.#waiting.has(client)) this.#waiting.set(client, now())
  }

  recordLeaderEnd() {
    this.#leaderless ??= now()
  }

  /**
   * Records a response.
   *
   * @param invoked - time when the request was sent
   */
  recordResponse(client: string, invoked: number) {
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

  /** The waiting times after the end of a node and of the leader, for the report. */
  get summary() {
    return { nodes: wordsOf(this.#nodes), leaders: wordsOf(this.#leaders) }
  }
}

function wordsOf(times: readonly number[]) {
  const inOrder = [...times].sort((a, b) => a - b)
  const [median, longest] = [inOrder[Math.floor(inOrder.length / 2)], inOrder.at(-1)]
  if (median === undefined || longest === undefined) return 'none'
  return `${(median / 1000).toFixed(2)} s, ${(longest / 1000).toFixed(2)} s (${inOrder.length})`
}
