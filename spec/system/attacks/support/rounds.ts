import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Experience, RoundRequest } from './innocent.js'

const MAX_COMPLAINTS = 10
/** The interval of the measurement of delays in ms, which each measured value includes. */
const RESOLUTION_MS = 10

/**
 * The rounds of an innocent client in this process. In a round, the client sends messages and each event that it expects
 * must arrive once. The parent process sends a {@link RoundRequest}, after which it receives the measurements.
 */
export class Rounds {
  /** The delay of this idle process shows how busy the machine is. */
  readonly #lateness = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  /** The expected events of the round. */
  readonly #due = new Set<string>()
  #durations: number[] = []
  #complaints: string[] = []
  #round = 0
  #began = performance.now()
  #reportAfterRound = Number.POSITIVE_INFINITY
  #reportTimer: NodeJS.Timeout | undefined
  #isOver = false
  #finish = (): void => undefined

  constructor() {
    this.#lateness.enable()
    process.on('message', ({ rounds, timeoutMs }: RoundRequest) => {
      this.#reportAfterRound = this.#round + rounds
      if (this.#isOver) this.#report()
      else if (timeoutMs !== undefined) this.#reportTimer = setTimeout(() => this.#report(), timeoutMs)
    })
    process.on('disconnect', () => process.exit())
  }

  complain(words: string): void {
    if (this.#complaints.length < MAX_COMPLAINTS) this.#complaints.push(words)
  }

  /** Ends the rounds, because the connection has ended. */
  end(reason: string): void {
    this.complain(`its connection was ended: ${reason}`)
    this.#isOver = true
    this.#report()
  }

  /** Records an event. Complains if the event is not expected. */
  arrived(event: string): void {
    if (!this.#due.delete(event)) this.complain(`in round ${this.#round} came ${JSON.stringify(event.slice(0, 200))}`)
    if (this.#due.size === 0) this.#finish()
  }

  /** Resolves when all events have arrived. */
  async all(events: readonly string[]): Promise<void> {
    for (const event of events) this.#due.add(event)
    return new Promise(resolve => {
      this.#finish = resolve
    })
  }

  /**
   * Repeats rounds until the process ends.
   *
   * @param pauseMs - the pause between two rounds, so that the client does not flood the server
   * @param send - sends the messages of a round and returns the events to expect
   */
  async run(pauseMs: number, send: (round: number) => readonly string[]): Promise<void> {
    process.send?.('ready')
    for (;;) {
      this.#began = performance.now()
      await this.all(send(++this.#round))
      this.#durations.push(performance.now() - this.#began)
      if (this.#round >= this.#reportAfterRound) this.#report()
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }

  #report(): void {
    if (this.#reportAfterRound === Number.POSITIVE_INFINITY) return
    this.#reportAfterRound = Number.POSITIVE_INFINITY
    // A timer of this report must not end the next one early.
    clearTimeout(this.#reportTimer)
    process.send?.(this.#experience())
  }

  /** Returns the measurements since the last call. A round in progress counts with its duration so far. */
  #experience(): Experience {
    const rounds = this.#durations.length
    if (this.#due.size > 0) this.#durations.push(performance.now() - this.#began)
    const sorted = this.#durations.sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.POSITIVE_INFINITY
    const durations = { p50: at(0.5), p99: at(0.99), worst: at(1) }
    const late = (share: number): number => this.#lateness.percentile(100 * share) / 1e6 - RESOLUTION_MS
    const noise = { p50: late(0.5), worst: late(1) }
    const result = { rounds, durations, noise, complaints: this.#complaints }
    this.#lateness.reset()
    this.#durations = []
    this.#complaints = []
    return result
  }
}
