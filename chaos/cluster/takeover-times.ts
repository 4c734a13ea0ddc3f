import { now } from '../now.js'
import { quantile } from '../trend.js'

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

  /** The rows of the final table. */
  get rows() {
    return [
      ['takeover from a node: median, most', summaryOf(this.#nodes)],
      ['takeover from a leader: median, most', summaryOf(this.#leaders)],
    ] as const
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
const summaryOf = (times: readonly number[]) =>
  times.length === 0 ? 'none' : `${seconds(quantile(times, 0.5))}, ${seconds(Math.max(...times))} (${times.length})`
