import type { Subscription } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import { Timer } from '../../../core/util/timer.js'
import type { Stream, StreamMessage } from './stream.js'

export interface FollowerHost {
  readonly clock: Clock
  readonly random: () => number
  /** Returns the position of the last message received. */
  readonly position: () => number
  onMessage(message: StreamMessage): void
  onError(error: unknown): void
}

/** The delay in ms before following the stream again after a failure. */
const RETRY_DELAY_MS = { initial: 50, max: 1_000 }
/** The number of checks without progress, despite known messages, after which the stream is followed again. */
const MAX_STALLED_CHECKS = 3

/** Follows a stream from the current position. Restarts the subscription when it ends or stalls. */
export class Follower {
  readonly #stream: Stream
  readonly #host: FollowerHost
  #subscription: Subscription | undefined
  readonly #restart: Timer
  /** The last position known to exist in the stream. */
  #knownEnd = 0
  #lastPosition = 0
  #stalledChecks = 0
  #isStopped = false

  constructor(stream: Stream, host: FollowerHost) {
    this.#stream = stream
    this.#host = host
    this.#restart = new Timer(host.clock, { ...RETRY_DELAY_MS, random: host.random })
  }

  /** The last position known to exist in the stream. */
  get knownEnd(): number {
    return this.#knownEnd
  }

  start(): void {
    this.#subscription?.unsubscribe()
    if (this.#isStopped) return
    this.#subscription = this.#stream.follow(this.#host.position()).subscribe({
      next: message => {
        // A subscription begins with the last message received, which proves no progress.
        if (message.position > this.#host.position()) this.#restart.reset()
        this.#host.onMessage(message)
      },
      error: error => {
        this.#host.onError(error)
        this.#restart.retry(() => this.start())
      },
      complete: () => this.#restart.retry(() => this.start()),
    })
    if (this.#isStopped) this.#subscription.unsubscribe()
  }

  /** Records that the stream has a message at a position. */
  extendKnownEnd(position: number): void {
    this.#knownEnd = Math.max(this.#knownEnd, position)
  }

  /** Restarts the subscription if it has stalled. Called periodically. */
  checkProgress(): void {
    const position = this.#host.position()
    this.#stalledChecks = position === this.#lastPosition && position < this.#knownEnd ? this.#stalledChecks + 1 : 0
    this.#lastPosition = position
    if (this.#stalledChecks < MAX_STALLED_CHECKS) return
    this.#stalledChecks = 0
    this.start()
  }

  stop(): void {
    this.#isStopped = true
    this.#restart.cancel()
    this.#subscription?.unsubscribe()
  }
}
