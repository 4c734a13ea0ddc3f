import type { KeyName } from '../../core/protocol/commands.js'
import type { StateStoreError } from '../../core/util/errors.js'
import { type Freshness, INITIAL, type RawEntry, type WatchState } from './watch-state.js'

/** Who listens to a watch. */
export interface WatchObserver {
  /**
   * What was emitted last, or is emitted now, and whether it can be relied on; at once for a new listener. No entry for a key
   * that is not known yet, and at the end: then it is what it was.
   */
  signal(entry: RawEntry | undefined, freshness: Freshness): void
  error(error: StateStoreError): void
  complete(): void
}

/** A registration for many keys, which stands in for those of watches: they send no KEYNOTIFY of their own. */
export interface SharedRegistration {
  /** Whether the store has it on this connection. */
  readonly registered: boolean
}

/** What a watch knows of its key. */
export interface Known {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
}

const NONE: readonly WatchObserver[] = []
const NOTHING: (() => void)[] = []

/** One watched key of a client. There may be ten thousand, so it is lean. */
export class Watch {
  readonly key: KeyName
  /** What stands in for a registration of its own. */
  cover: SharedRegistration | undefined
  state: WatchState = INITIAL
  /** The request under way, or the pause before it is tried again. */
  request: { unsubscribe(): void } | undefined = undefined
  /** It takes no part in anything any more. */
  isOver = false
  // Replaced, never changed: listeners may come and go while they are told.
  #observers = NONE
  #isTelling = false
  /** What came of what is being told, and is told behind it. */
  #untold: (() => void)[] = NOTHING

  constructor(key: KeyName, cover?: SharedRegistration) {
    this.key = key
    this.cover = cover
  }

  get abandoned(): boolean {
    return this.#observers.length === 0
  }

  /** Whether more than one listen. */
  get isShared(): boolean {
    return this.#observers.length > 1
  }

  /**
   * A cover is about to tell the first change of the key, and every one from then on: whether that is better than to wait
   * for an answer. Not while a registration of its own is under way, for that has to be heard of, or nobody would end it.
   */
  isToldBy(cover: SharedRegistration): boolean {
    const { phase, synced } = this.state
    if (synced || !(phase === 'reading' || (phase === 'registering' && this.cover))) return false
    this.cover &&= cover
    this.cancel()
    return true
  }

  /** Whether a cover stands in for it; one that the store has does in the place of another that is still to be answered. */
  takes(cover: SharedRegistration): boolean {
    if (cover.registered && this.cover?.registered === false) this.cover = cover
    return this.cover === cover
  }

  join(observer: WatchObserver): void {
    this.#observers = this.#observers.concat(observer)
  }

  /** Whether somebody listens. */
  has(observer: WatchObserver): boolean {
    return this.#observers.includes(observer)
  }

  /** Whether it was there. */
  leave(observer: WatchObserver): boolean {
    const others = this.#observers.filter(other => other !== observer)
    const left = others.length < this.#observers.length
    this.#observers = others
    return left
  }

  /**
   * Tells all who listen now of entries, in their order. What comes of that meanwhile is told behind it; one who begins to
   * listen meanwhile knows the last entry, and hears of none of these.
   */
  tell(entries: readonly (RawEntry | undefined)[], freshness: Freshness): void {
    const observers = this.#observers
    if (observers.length === 0) return
    if (!this.#isTelling) this.#tellAtOnce(observers, entries, freshness)
    else this.#untold = this.#untold.concat(() => this.#signal(observers, entries, freshness))
  }

  /**
   * Tells one who has just joined what is known. What comes of that is told to all behind it, as with {@link tell}: or
   * the last it heard of would be older than what it was told in between.
   */
  greet(observer: WatchObserver, entry: RawEntry | undefined, freshness: Freshness): void {
    if (!this.has(observer)) return
    if (this.#isTelling) observer.signal(entry, freshness)
    else this.#tellAtOnce([observer], [entry], freshness)
  }

  /** Tells all that it is over, and forgets them, at once: of what is being told they hear nothing more. */
  end(freshness: Freshness, error: StateStoreError | undefined): void {
    this.isOver = true
    const observers = this.#observers
    this.#observers = NONE
    this.#untold = NOTHING
    // No entry, for there may be some in between that were not told. All observers learn the freshness before any of them
    // ends: one may be the teardown of another.
    for (const observer of observers) observer.signal(undefined, freshness)
    for (const observer of observers) {
      if (error) observer.error(error)
      else observer.complete()
    }
  }

  #tellAtOnce(
    observers: readonly WatchObserver[],
    entries: readonly (RawEntry | undefined)[],
    freshness: Freshness,
  ): void {
    this.#isTelling = true
    try {
      this.#signal(observers, entries, freshness)
      while (this.#untold.length > 0) {
        const [next, ...others] = this.#untold
        this.#untold = others
        next?.()
      }
    } finally {
      this.#isTelling = false
      this.#untold = NOTHING
    }
  }

  #signal(observers: readonly WatchObserver[], entries: readonly (RawEntry | undefined)[], freshness: Freshness): void {
    // It may have left meanwhile.
    for (const entry of entries)
      for (const observer of observers)
        if (observers === this.#observers || this.has(observer)) observer.signal(entry, freshness)
  }

  /** Ends what is under way. */
  cancel(): void {
    this.request?.unsubscribe()
    this.request = undefined
  }
}
