import type { KeyName } from '../../core/protocol/key-name.js'
import { afterIo } from '../../core/util/clock.js'
import { ClosedError, type StateStoreError } from '../../core/util/errors.js'
import type { KeyHost } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { RawEntry } from '../watch/watch-state.js'

/** What is known of a key, not decoded yet. Immutable; the same object until something is different. */
export interface KeyState {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
  /** Why the watch has ended, if it has. */
  readonly error: StateStoreError | undefined
}

/** A key without a watch; also what a server renders. */
export const UNWATCHED: KeyState = { raw: undefined, freshness: { state: 'connecting' }, error: undefined }

/**
 * A key as an external store of React: one per component that uses it. The watch behind it is shared by all of a client.
 *
 * It is left only after the task that runs: in StrictMode, and when one component takes the place of another, a key is
 * unsubscribed and subscribed again in one go, and the store shall not hear of it.
 */
export class KeyWatch {
  readonly #key: KeyName
  readonly #host: KeyHost
  #state = UNWATCHED
  #subscribers = 0

  constructor(key: KeyName, host: KeyHost) {
    this.#key = key
    this.#host = host
  }

  /** Watches the key. The returned function ends that, once. */
  readonly subscribe = (changed: () => void): (() => void) => {
    let isListening = true
    const tell = (raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): void => {
      // At the end there is none, and the last one stays.
      if (isListening && this.#set(raw ?? this.#state.raw, freshness, error)) changed()
    }
    const end = (error: StateStoreError): void => {
      tell(this.#state.raw, this.#state.freshness, error)
      isListening = false
    }
    const observer = {
      signal: (raw: RawEntry | undefined, freshness: Freshness): void => tell(raw, freshness, undefined),
      error: end,
      complete: () => end(new ClosedError()),
    }
    const { registry } = this.#host
    this.#subscribers++
    registry.join(this.#key, observer)
    return () => {
      isListening = false
      this.#subscribers--
      afterIo(() => registry.leave(this.#key, observer))
    }
  }

  /** The state now; before this component watches the key, what others that do know of it. */
  readonly read = (): KeyState => {
    if (this.#subscribers === 0) {
      const { raw, freshness } = this.#host.registry.peek(this.#key) ?? UNWATCHED
      this.#set(raw, freshness, undefined)
    }
    return this.#state
  }

  #set(raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): boolean {
    const { raw: before, freshness: then, error: ended } = this.#state
    if (raw === before && error === ended && isSame(freshness, then)) return false
    this.#state = raw || freshness.state !== 'connecting' || error ? { raw, freshness, error } : UNWATCHED
    return true
  }
}

const isSame = (one: Freshness, other: Freshness): boolean =>
  one.state === other.state && (one.state !== 'stale' || other.state !== 'stale' || one.since === other.since)
