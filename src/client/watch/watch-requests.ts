import type { Subscription } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { NoStoreError } from '../requests/request.js'
import { isPermanentError } from './permanent-errors.js'
import type { RegistryOptions } from './shared-registration.js'
import type { Watch } from './watch.js'
import type { WatchEvent } from './watch-state.js'

/** What a watch asks of the store. */
export type WatchRequest = 'KEYNOTIFY' | 'GET'

/** What comes of the requests of watches. */
interface RequestEvents {
  answered(watch: Watch, event: WatchEvent): void
  /** No later attempt can succeed. @param registered - it may be registered at the store */
  failed(watch: Watch, error: StateStoreError, registered: boolean): void
  /** It has failed, and is tried again. */
  unanswered(watch: Watch): void
  /** It is tried again, or not waited for any more. */
  report(error: StateStoreError): void
  /** Whether there is a watch of a key, now, that has a registration of its own. */
  isRegistered(key: KeyName): boolean
}

/** So many requests of watches are under way at a time; 10,000 keys come back in as many steps as needed. */
const CONCURRENCY = 256

/** So often the end of a registration is asked for; what stays costs needless notifications until the connection ends. */
export const MOST_STOPS = 8

/** The requests of all watches of a client: at most {@link CONCURRENCY} at a time, repeated after ever longer pauses. */
export class WatchRequests {
  readonly #options: RegistryOptions
  readonly #events: RequestEvents
  readonly #noStoreRetry: NoStoreRetry
  readonly #window = new RequestWindow<Watch>(CONCURRENCY)
  readonly #stops = new Set<Subscription>()
  /** Calls off another attempt to end a registration, by key. */
  readonly #stopsAgain = new Map<string, () => void>()
  /** How often a request has failed, of those that have. */
  readonly #attempts = new Map<Watch, number>()

  constructor(options: RegistryOptions, events: RequestEvents) {
    this.#noStoreRetry = new NoStoreRetry(options.clock)
    this.#options = options
    this.#events = events
  }

  /** Sends a request in its turn; a watch has one at a time. */
  send(watch: Watch, request: WatchRequest): void {
    // A glob that stands in for the registration does not need that of a watch before.
    if (watch.cover === undefined) this.#callOffStop(watch)
    this.#window.take(watch, () => this.#request(watch, request))
  }

  /** Ends the registration of a watch that is over. @param atOnce - nothing else will be sent */
  unregister(watch: Watch, atOnce: boolean): void {
    if (atOnce) this.#stop(watch)
    else this.#window.take(watch, () => this.#stop(watch))
  }

  /** A watch is over: it sends nothing more. */
  leave(watch: Watch): void {
    this.#window.leave(watch)
    this.#attempts.delete(watch)
    watch.cancel()
  }

  /** The connection is gone, and with it what was asked over it; a registration made on the next must not be ended by it. */
  clear(): void {
    this.#window.clear()
    this.#noStoreRetry.clear()
    this.#attempts.clear()
    // What is called off tells nobody.
    for (const stop of this.#stops) stop.unsubscribe()
    for (const cancel of this.#stopsAgain.values()) cancel()
    this.#stopsAgain.clear()
  }

  #request(watch: Watch, request: WatchRequest): Subscription {
    const { store, timeout } = this.#options
    const error = (cause: StateStoreError): void => this.#failed(watch, request, cause)
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
    this.#noStoreRetry.seen()
    this.#attempts.delete(watch)
    watch.request = undefined
    this.#events.answered(watch, event)
  }

  #failed(watch: Watch, request: WatchRequest, error: StateStoreError): void {
    const attempt = (this.#attempts.get(watch) ?? 0) + 1
    if (isPermanentError(error)) {
      // An attempt before may have been heard.
      this.#events.failed(watch, error, request !== 'KEYNOTIFY' || attempt > 1)
      return
    }
    this.#attempts.set(watch, attempt)
    const again = (): void => this.send(watch, request)
    if (error instanceof NoStoreError) watch.request = this.#noStoreRetry.wait(again)
    else {
      if (error.code !== 'timeout') this.#noStoreRetry.seen()
      watch.request = { unsubscribe: this.#options.clock.schedule(backoff(attempt), again) }
    }
    this.#events.unanswered(watch)
    // Last, for who is told may end the watch.
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
    // A registration that somebody needs again must not be ended by an attempt from before.
    if (isPermanentError(error) || attempt === MOST_STOPS || this.#events.isRegistered(watch.key)) return
    // Those of two watches, one after the other, may both have failed: one attempt ends what either left.
    if (this.#stopsAgain.has(watch.key.id)) return
    const again = (): void => {
      this.#stopsAgain.delete(watch.key.id)
      this.#window.take(watch, () => this.#stop(watch, attempt + 1))
    }
    this.#stopsAgain.set(watch.key.id, this.#options.clock.schedule(backoff(attempt), again))
  }

  #callOffStop({ key }: Watch): void {
    this.#stopsAgain.get(key.id)?.()
    this.#stopsAgain.delete(key.id)
  }
}

/** The longest pause between two looks, ms: so soon after a store has come its watches are back. */
const LONGEST_PAUSE = 700

/**
 * Where watches wait that found no store at the broker: one of them tries again every now and then, and when it gets an
 * answer all others follow, so that ten thousand watches ask no more often than one.
 */
export class NoStoreRetry {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #attempt = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits to try again. */
  wait(again: () => void): { unsubscribe(): void } {
    this.#waiting.add(again)
    this.#arm()
    return { unsubscribe: () => this.#waiting.delete(again) }
  }

  /** A store has answered. */
  seen(): void {
    if (this.#attempt === 0) return
    this.#rest()
    // One that tries again may make others leave, and come back to wait.
    for (const again of Array.from(this.#waiting)) if (this.#waiting.delete(again)) again()
  }

  /** The connection is gone, and with it all that waited. */
  clear(): void {
    this.#rest()
    this.#waiting.clear()
  }

  #rest(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#attempt = 0
  }

  #arm(): void {
    this.#cancel ??= this.#clock.schedule(backoff(++this.#attempt, { max: LONGEST_PAUSE }), () => this.#look())
  }

  /** One goes; if it is not heard of again, because its watch has ended, the next one goes after a pause. */
  #look(): void {
    this.#cancel = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first)
    if (this.#waiting.size > 0) this.#arm()
    first()
  }
}

interface Turn<K> {
  readonly owner: K
  readonly start: () => Subscription
}

/**
 * Lets at most `limit` requests be under way at a time; the others wait for their turn in the order they came, one per
 * owner, of which the newest counts.
 */
export class RequestWindow<K> {
  readonly #limit: number
  readonly #line = new Fifo<Turn<K>>()
  /** The turn each owner waits for; another one in the line has been given up. */
  readonly #waiting = new Map<K, Turn<K>>()
  #active = 0
  #starting = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Starts a request when it is its turn; the turn ends with the subscription it returns. */
  take(owner: K, start: () => Subscription): void {
    const turn = { owner, start }
    this.#waiting.set(owner, turn)
    this.#line.push(turn)
    this.#next()
  }

  /** Gives up a turn that has not come. */
  leave(owner: K): void {
    this.#waiting.delete(owner)
  }

  clear(): void {
    this.#waiting.clear()
    this.#line.clear()
  }

  // A request that ends at once calls this again from within; the loop that runs sees the turn it frees.
  #next(): void {
    if (this.#starting) return
    this.#starting = true
    while (this.#active < this.#limit) {
      const turn = this.#line.shift()
      if (turn === undefined) break
      if (this.#waiting.get(turn.owner) === turn) this.#start(turn)
    }
    this.#starting = false
  }

  #start({ owner, start }: Turn<K>): void {
    this.#waiting.delete(owner)
    this.#active++
    start().add(() => {
      this.#active--
      this.#next()
    })
  }
}
