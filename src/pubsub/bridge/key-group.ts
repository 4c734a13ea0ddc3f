import { Subscription } from 'rxjs'
import type { Key } from '../../client/keys/key.js'
import { ClosedError, StateStoreError } from '../../core/util/errors.js'
import type { Hub } from '../hub/hub.js'
import {
  entryMessage,
  errorInfoOf,
  freshnessMessage,
  type KeyEntry,
  type KeyFreshness,
  type KeyMessage,
  serialize,
  withoutValue,
} from './key-messages.js'

export interface KeyGroupHost {
  readonly hub: Hub
  readonly report: (error: StateStoreError) => void
  /** Called when the watch ends without `stop`. */
  readonly onEnded: (keyGroup: KeyGroup) => void
}

/**
 * A watched key and its group. Each change is sent to the group immediately, and a new member is sent the latest entry.
 * Both use one queue, so a member gets no gaps and no duplicates.
 */
export class KeyGroup {
  readonly group: string
  readonly connectionIds = new Set<string>()
  readonly #key: Key<unknown>
  readonly #host: KeyGroupHost
  readonly #watch = new Subscription()
  #entry: KeyEntry | undefined
  #freshness: KeyFreshness | undefined

  constructor(group: string, key: Key<unknown>, host: KeyGroupHost) {
    this.group = group
    this.#key = key
    this.#host = host
  }

  /** Starts to watch the key. May send synchronously. */
  start(): void {
    this.#watch.add(
      this.#key.entries$.subscribe({
        next: entry => this.#sendEntry(entryMessage(entry)),
        error: (error: StateStoreError) => this.#onWatchEnded(error),
        complete: () => this.#onWatchEnded(new ClosedError('The connection to the store is closed')),
      }),
    )
    const { name } = this.#key
    this.#watch.add(
      this.#key.freshness$.subscribe({
        next: freshness => this.#sendFreshness(freshnessMessage(name, freshness)),
        // `entries$` reports the error.
        error: () => undefined,
      }),
    )
  }

  stop(): void {
    this.#watch.unsubscribe()
  }

  addMember(connectionId: string): void {
    this.connectionIds.add(connectionId)
    const { hub } = this.#host
    for (const message of [this.#entry, this.#freshness]) {
      if (message !== undefined) hub.sendToMember(this.group, connectionId, serialize(message))
    }
  }

  #sendEntry(entry: KeyEntry): void {
    try {
      this.#send(entry)
      this.#entry = entry
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      // The codec rejected the value, or the value exceeds the size limit. Members still get the version.
      this.#host.report(error)
      this.#entry = withoutValue(entry, error)
      this.#send(this.#entry)
    }
  }

  #sendFreshness(freshness: KeyFreshness): void {
    if (freshness.state === 'connecting') return
    this.#freshness = freshness
    this.#send(freshness)
  }

  #onWatchEnded(error: StateStoreError): void {
    this.#host.onEnded(this)
    this.#host.report(error)
    this.#send({ type: 'error', key: this.#key.name, error: errorInfoOf(error) })
  }

  #send(message: KeyMessage): void {
    this.#host.hub.sendToGroup(this.group, serialize(message))
  }
}
