import type { Subscription } from 'rxjs'
import { backoff } from '../../../core/util/backoff.js'
import type { Clock } from '../../../core/util/clock.js'
import type { Stream, StreamMessage } from './stream.js'

/** What a follower needs. */
export interface FollowerHost {
  readonly clock: Clock
  readonly random: () => number
  /** Of the last message that was taken. */
  readonly position: () => number
  take(message: StreamMessage): void
  troubled(error: unknown): void
}

/** Follows again after a failure, ms. */
const RETRY = { initial: 50, max: 1_000 }
/** A stream of which something is known to be there, and that brings nothing for so many looks, is followed anew. */
const PATIENCE = 3

/** Follows a stream from where it was read, and follows again when that ends or stalls. */
export class Follower {
  readonly #stream: Stream
  readonly #host: FollowerHost
  #subscription: Subscription | undefined
  #cancel: () => void = () => undefined
  #failures = 0
  /** So far the stream is known to go. */
  #known = 0
  /** Where it was at the last look, and for how many looks it has been there. */
  #seen = 0
  #looks = 0
  #stopped = false

  constructor(stream: Stream, host: FollowerHost) {
    this.#stream = stream
    this.#host = host
  }

  /** So far the stream is known to go. */
  get known(): number {
    return this.#known
  }

  start(): void {
    this.#subscription?.unsubscribe()
    if (this.#stopped) return
    this.#subscription = this.#stream.follow(this.#host.position()).subscribe({
      next: message => {
        this.#failures = 0
        this.#host.take(message)
      },
      error: error => {
        this.#host.troubled(error)
        this.#again()
      },
      complete: () => this.#again(),
    })
    if (this.#stopped) this.#subscription.unsubscribe()
  }

  /** The stream has something at a position. */
  knows(position: number): void {
    this.#known = Math.max(this.#known, position)
  }

  /** To be called from time to time. */
  look(): void {
    const position = this.#host.position()
    this.#looks = position === this.#seen && position < this.#known ? this.#looks + 1 : 0
    this.#seen = position
    if (this.#looks < PATIENCE) return
    this.#looks = 0
    this.start()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
    this.#subscription?.unsubscribe()
  }

  #again(): void {
    this.#cancel()
    const delay = backoff(++this.#failures, { ...RETRY, random: this.#host.random })
    this.#cancel = this.#host.clock.schedule(delay, () => this.start())
  }
}
