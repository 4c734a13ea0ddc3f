import type { KeyName } from '../../core/protocol/commands.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from './freshness.js'
import { INITIAL, type RawEntry, type WatchState } from './watch-state.js'

/** What an observer passes on, which decides its turn; see {@link inTurn}. */
export const ENTRIES = 0
export const BOTH = 1
export const FRESHNESS = 2
export type Emission = typeof ENTRIES | typeof BOTH | typeof FRESHNESS

export interface WatchObserver {
  readonly emits: Emission
  /**
   * Receives the current entry and its freshness, synchronously for a new observer, then after every step. The last one of
   * `entries` is the current entry, which the observer may have received before. `entries` is empty for a key that was not
   * read yet, and at the end of the watch, which does not change the entry.
   */
  signal(entries: readonly RawEntry[], freshness: Freshness): void
  error(error: StateStoreError): void
  complete(): void
}

/** A glob registration that serves the watches of its keys, which therefore send no KEYNOTIFY. */
export interface SharedRegistration {
  readonly isRegistered: boolean
}

export interface KnownState {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
}

/**
 * Returns observers in the order in which they are notified. Entries precede `live` and follow any other freshness, so that
 * an outdated value is never combined with `live`, in whatever order the streams of a key were subscribed.
 */
export const inTurn = <O extends { readonly emits: Emission }>(
  observers: readonly O[],
  { state }: Freshness,
): readonly O[] =>
  observers.slice().sort(({ emits: one }, { emits: other }) => (state === 'live' ? one - other : other - one))

const NO_OBSERVERS: readonly WatchObserver[] = []
const NO_NOTIFICATIONS: (() => void)[] = []

/** One watched key of a client. Kept small, because a client may have ten thousand watches. */
export class Watch {
  readonly key: KeyName
  /** The shared registration that serves this watch; `undefined` if the watch has a private one. */
  registration: SharedRegistration | undefined
  state: WatchState = INITIAL
  /** The pending request, or the delay before its retry. */
  request: { unsubscribe(): void } | undefined = undefined
  isEnded = false
  // The list is copied on write, because observers may join and leave while they are notified.
  #observers = NO_OBSERVERS
  #isNotifying = false
  /** Notifications that observers cause during a notification. They are delivered after that notification. */
  #queued: (() => void)[] = NO_NOTIFICATIONS

  constructor(key: KeyName, registration?: SharedRegistration) {
    this.key = key
    this.registration = registration
  }

  get isUnobserved(): boolean {
    return this.#observers.length === 0
  }

  get isShared(): boolean {
    return this.#observers.length > 1
  }

  /**
   * Switches to a shared registration that is about to notify the key's first change and all later ones, instead of
   * waiting for a response. Returns false while a private registration is pending: an unconfirmed registration would
   * never be ended.
   */
  tryFollow(registration: SharedRegistration): boolean {
    const { phase, isSynced } = this.state
    if (isSynced || !(phase === 'reading' || (phase === 'registering' && this.registration))) return false
    this.registration &&= registration
    this.cancel()
    return true
  }

  /** Returns whether a shared registration serves this watch; a confirmed registration replaces a pending one. */
  tryAdopt(registration: SharedRegistration): boolean {
    if (registration.isRegistered && this.registration?.isRegistered === false) this.registration = registration
    return this.registration === registration
  }

  join(observer: WatchObserver): void {
    this.#observers = this.#observers.concat(observer)
  }

  has(observer: WatchObserver): boolean {
    return this.#observers.includes(observer)
  }

  /** Removes an observer. Returns whether it had joined. */
  leave(observer: WatchObserver): boolean {
    const others = this.#observers.filter(other => other !== observer)
    const wasJoined = others.length < this.#observers.length
    this.#observers = others
    return wasJoined
  }

  /**
   * Notifies the current observers of entries, in order. Notifications that an observer causes are queued behind it. An
   * observer that joins during the call receives none of these entries, because it already has the last one.
   */
  notify(entries: readonly RawEntry[], freshness: Freshness): void {
    const observers = this.#observers
    if (observers.length === 0) return
    if (!this.#isNotifying) this.#notifyNow(observers, entries, freshness)
    else this.#queued = this.#queued.concat(() => this.#signal(observers, entries, freshness))
  }

  /**
   * Notifies an observer that has just joined. As in {@link notify}, notifications that the observer causes are queued
   * behind this one; otherwise the observer would receive the older entry last.
   */
  notifyOne(observer: WatchObserver, entries: readonly RawEntry[], freshness: Freshness): void {
    if (!this.has(observer)) return
    if (this.#isNotifying) observer.signal(entries, freshness)
    else this.#notifyNow([observer], entries, freshness)
  }

  /** Ends the watch for all observers, and drops queued notifications. */
  end(freshness: Freshness, error: StateStoreError | undefined): void {
    this.isEnded = true
    const observers = this.#observers
    this.#observers = NO_OBSERVERS
    this.#queued = NO_NOTIFICATIONS
    // The signal has no entry, because dropped entries may precede it. Freshness goes to all observers first, because
    // ending one may tear down another.
    for (const observer of observers) observer.signal([], freshness)
    for (const observer of observers) {
      if (error) observer.error(error)
      else observer.complete()
    }
  }

  #notifyNow(observers: readonly WatchObserver[], entries: readonly RawEntry[], freshness: Freshness): void {
    this.#isNotifying = true
    try {
      this.#signal(observers, entries, freshness)
      while (this.#queued.length > 0) {
        const [next, ...others] = this.#queued
        this.#queued = others
        next?.()
      }
    } finally {
      this.#isNotifying = false
      this.#queued = NO_NOTIFICATIONS
    }
  }

  #signal(observers: readonly WatchObserver[], entries: readonly RawEntry[], freshness: Freshness): void {
    for (const observer of inTurn(observers, freshness))
      if (observers === this.#observers || this.has(observer)) observer.signal(entries, freshness)
  }

  cancel(): void {
    this.request?.unsubscribe()
    this.request = undefined
  }
}
