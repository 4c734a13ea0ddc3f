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
  withoutValue,
  written,
} from './key-messages.js'

/** What the group of a key needs of its bridge. */
export interface KeyGroupHost {
  readonly hub: Hub
  readonly report: (error: StateStoreError) => void
  /** The watch of the key has ended by itself. */
  readonly ended: (keyGroup: KeyGroup) => void
}

/**
 * A key and the group that follows it. Every change of the key is sent to the group at once, and a new member is sent
 * what was sent last: as both are queued in the order they happen, a member has no gap and sees nothing twice.
 */
export class KeyGroup {
  readonly group: string
  /** Connection ids. */
  readonly members = new Set<string>()
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

  /** Watches the key; may tell at once. */
  start(): void {
    this.#watch.add(
      this.#key.entries$.subscribe({
        next: entry => this.#tellEntry(entryMessage(entry)),
        error: (error: StateStoreError) => this.#end(error),
        complete: () => this.#end(new ClosedError('The connection to the store is closed')),
      }),
    )
    const { name } = this.#key
    this.#watch.add(
      this.#key.freshness$.subscribe({
        next: freshness => this.#tellFreshness(freshnessMessage(name, freshness)),
        // The other stream ends with it, too.
        error: () => undefined,
      }),
    )
  }

  stop(): void {
    this.#watch.unsubscribe()
  }

  /** Sends a new member what the others have. */
  welcome(connectionId: string): void {
    this.members.add(connectionId)
    const { hub } = this.#host
    for (const message of [this.#entry, this.#freshness]) {
      if (message !== undefined) hub.sendToMember(this.group, connectionId, written(message))
    }
  }

  #tellEntry(entry: KeyEntry): void {
    try {
      this.#tell(entry)
      this.#entry = entry
    } catch (error) {
      if (!(error instanceof StateStoreError)) throw error
      // It is kept out of JSON, by its codec or by its size; the version is there all the same.
      this.#host.report(error)
      this.#entry = withoutValue(entry, error)
      this.#tell(this.#entry)
    }
  }

  #tellFreshness(freshness: KeyFreshness): void {
    // Before the first entry there is nothing to rely on.
    if (freshness.state === 'connecting') return
    this.#freshness = freshness
    this.#tell(freshness)
  }

  #end(error: StateStoreError): void {
    this.#host.ended(this)
    this.#host.report(error)
    this.#tell({ type: 'error', key: this.#key.name, error: errorInfoOf(error) })
  }

  #tell(message: KeyMessage): void {
    this.#host.hub.sendToGroup(this.group, written(message))
  }
}
