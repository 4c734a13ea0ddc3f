import type { Subscription } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { MAX_WATCHED_KEY_BYTES } from '../../core/protocol/topics.js'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { ArgumentError, type StateStoreError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import { isPermanentError } from '../../core/util/transient-errors.js'
import { NoStoreError } from '../requests/request.js'
import type { RegistryOptions } from './shared-registration.js'
import type { Watch } from './watch.js'
import type { WatchEvent } from './watch-state.js'

export type WatchRequest = 'KEYNOTIFY' | 'GET'

interface RequestEvents {
  answered(watch: Watch, event: WatchEvent): void
  /** Called when no retry can succeed. @param mayBeRegistered - whether the store may have a registration */
  failed(watch: Watch, error: StateStoreError, mayBeRegistered: boolean): void
  unanswered(watch: Watch): void
  report(error: StateStoreError): void
  /** Returns whether the key is watched through a private registration. */
  isRegistered(key: KeyName): boolean
}

const MAX_IN_FLIGHT = 256

/**
 * Maximum number of attempts to send a STOP. A registration that stays costs only needless notifications until the
 * connection ends.
 */
export const MAX_STOP_ATTEMPTS = 8

/** Sends the requests of all watches of a client, at most {@link MAX_IN_FLIGHT} at a time, and retries them with backoff. */
export class WatchRequests {
  readonly #options: RegistryOptions
  readonly #events: RequestEvents
  readonly #noStoreRetry: NoStoreRetry
  readonly #window = new RequestWindow<Watch>(MAX_IN_FLIGHT)
  readonly #stops = new Set<Subscription>()
  readonly #stopRetries = new Map<string, () => void>()
  readonly #attempts = new Map<Watch, number>()

  constructor(options: RegistryOptions, events: RequestEvents) {
    this.#noStoreRetry = new NoStoreRetry(options.clock)
    this.#options = options
    this.#events = events
  }

  /** Queues a request; a watch has one request at a time. */
  send(watch: Watch, request: WatchRequest): void {
    // With a shared registration, a STOP of the earlier private registration does no harm.
    if (watch.registration === undefined) this.#cancelStopRetry(watch)
    this.#window.enqueue(watch, () => this.#request(watch, request))
  }

  /** Ends a watch's registration. @param isImmediate - bypasses the queue, for a client that is closing */
  unregister(watch: Watch, isImmediate: boolean): void {
    if (isImmediate) this.#stop(watch)
    else this.#window.enqueue(watch, () => this.#stop(watch))
  }

  leave(watch: Watch): void {
    this.#window.remove(watch)
    this.#attempts.delete(watch)
    watch.cancel()
  }

  /**
   * Cancels all requests of a lost connection, because a late STOP must not end a registration that was made on the
   * next connection.
   */
  clear(): void {
    this.#window.clear()
    this.#noStoreRetry.clear()
    this.#attempts.clear()
    for (const stop of this.#stops) stop.unsubscribe()
    for (const cancel of this.#stopRetries.values()) cancel()
    this.#stopRetries.clear()
  }

  #request(watch: Watch, request: WatchRequest): Subscription {
    const { store, timeout } = this.#options
    const error = (cause: StateStoreError): void => this.#failed(watch, request, keyTooLongError(watch, cause) ?? cause)
    const subscription =
      request === 'KEYNOTIFY'
        ? store
            .notify(watch.key, false, timeout)
            .subscribe({ next: () => this.#answered(watch, { type: 'registered' }), error })
        : store
            .read(watch.key, timeout)
            .subscribe({ next: reading => this.#answered(watch, { type: 'read', reading }), error })
    if (!subscription.closed) watch.request = subscription
    return subscription
  }

  #answered(watch: Watch, event: WatchEvent): void {
    this.#noStoreRetry.storeSeen()
    this.#attempts.delete(watch)
    watch.request = undefined
    this.#events.answered(watch, event)
  }

  #failed(watch: Watch, request: WatchRequest, error: StateStoreError): void {
    const attempt = (this.#attempts.get(watch) ?? 0) + 1
    if (isPermanentError(error)) {
      // The store may have processed an earlier attempt.
      this.#events.failed(watch, error, request !== 'KEYNOTIFY' || attempt > 1)
      return
    }
    this.#attempts.set(watch, attempt)
    const retry = (): void => this.send(watch, request)
    if (error instanceof NoStoreError) watch.request = this.#noStoreRetry.wait(retry)
    else {
      if (error.code !== 'timeout') this.#noStoreRetry.storeSeen()
      watch.request = { unsubscribe: this.#options.clock.schedule(backoff(attempt), retry) }
    }
    this.#events.unanswered(watch)
    // Reported last, because the callback may end the watch.
    this.#events.report(error)
  }

  #stop(watch: Watch, attempt = 1): Subscription {
    const stop = this.#options.store.notify(watch.key, true, this.#options.timeout).subscribe({
      error: error => this.#stopFailed(watch, attempt, error),
    })
    this.#stops.add(stop)
    stop.add(() => this.#stops.delete(stop))
    return stop
  }

  #stopFailed(watch: Watch, attempt: number, error: StateStoreError): void {
    this.#events.report(error)
    // A retry must not end the registration of a newer watch.
    if (isPermanentError(error) || attempt === MAX_STOP_ATTEMPTS || this.#events.isRegistered(watch.key)) return
    // The STOPs of two successive watches may both have failed; one retry is enough for both.
    if (this.#stopRetries.has(watch.key.id)) return
    const retry = (): void => {
      this.#stopRetries.delete(watch.key.id)
      this.#window.enqueue(watch, () => this.#stop(watch, attempt + 1))
    }
    this.#stopRetries.set(watch.key.id, this.#options.clock.schedule(backoff(attempt), retry))
  }

  #cancelStopRetry({ key }: Watch): void {
    this.#stopRetries.get(key.id)?.()
    this.#stopRetries.delete(key.id)
  }
}

/**
 * Returns the error of a key that is too long to be watched, for which the store has the same code as for a full quota.
 * No retry can succeed.
 */
function keyTooLongError({ key }: Watch, cause: StateStoreError): ArgumentError | undefined {
  const { length } = key.bytes
  if (cause.code !== 'quota-exceeded' || length <= MAX_WATCHED_KEY_BYTES) return undefined
  const start = JSON.stringify(`${key.text.slice(0, 40)}...`)
  return new ArgumentError(
    `Expected a watched key to have at most ${MAX_WATCHED_KEY_BYTES} bytes, got ${length} in ${start}: use \`get\` instead`,
    { cause },
  )
}

/** Maximum pause, ms. It bounds the time in which watches notice that a store has started. */
const MAX_PAUSE_MS = 700

/**
 * The shared retry timer of watches that found no store at the broker. One watch retries with backoff, and all others
 * follow its first response, so that ten thousand watches send as few requests as a single one.
 */
export class NoStoreRetry {
  readonly #timer: Timer
  readonly #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#timer = new Timer(clock, { max: MAX_PAUSE_MS })
  }

  wait(retry: () => void): { unsubscribe(): void } {
    this.#waiting.add(retry)
    this.#timer.retry(this.#retryOne)
    return { unsubscribe: () => this.#waiting.delete(retry) }
  }

  storeSeen(): void {
    this.#reset()
    // Iterates over a copy, because a retry may remove other retries or make them wait again.
    for (const retry of Array.from(this.#waiting)) if (this.#waiting.delete(retry)) retry()
  }

  clear(): void {
    this.#reset()
    this.#waiting.clear()
  }

  #reset(): void {
    this.#timer.cancel()
    this.#timer.reset()
  }

  /** Retries one watch. The timer is set for the next watch, because this one may end without a response. */
  readonly #retryOne = (): void => {
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first)
    if (this.#waiting.size > 0) this.#timer.retry(this.#retryOne)
    first()
  }
}

interface QueuedRequest<K> {
  readonly owner: K
  readonly start: () => Subscription
}

/**
 * Limits the number of requests in flight. Further requests are queued in order, one per owner: a newer request of an
 * owner replaces the queued one.
 */
export class RequestWindow<K> {
  readonly #limit: number
  readonly #queue = new Fifo<QueuedRequest<K>>()
  readonly #waiting = new Map<K, QueuedRequest<K>>()
  #active = 0
  #isStarting = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Starts a request when a slot is free. The slot is released when the subscription that `start` returns ends. */
  enqueue(owner: K, start: () => Subscription): void {
    const request = { owner, start }
    this.#waiting.set(owner, request)
    this.#queue.push(request)
    this.#startNext()
  }

  remove(owner: K): void {
    this.#waiting.delete(owner)
  }

  clear(): void {
    this.#waiting.clear()
    this.#queue.clear()
  }

  // A request that ends synchronously calls this method reentrantly; the outer loop uses the slot that it frees.
  #startNext(): void {
    if (this.#isStarting) return
    this.#isStarting = true
    while (this.#active < this.#limit) {
      const request = this.#queue.shift()
      if (request === undefined) break
      if (this.#waiting.get(request.owner) === request) this.#start(request)
    }
    this.#isStarting = false
  }

  #start({ owner, start }: QueuedRequest<K>): void {
    this.#waiting.delete(owner)
    this.#active++
    start().add(() => {
      this.#active--
      this.#startNext()
    })
  }
}
