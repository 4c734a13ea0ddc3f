import type { Subscriber, Unsubscribable } from 'rxjs'
import type { StateStoreError } from '../errors.js'
import type { Entry, EntryDecoder } from './entry.js'
import type { Freshness } from './freshness.js'
import type { RawEntry } from './reconcile.js'
import type { Registry } from './registry.js'
import type { WatchObserver } from './watch.js'

/** A subscriber as a watch sees it; unsubscribing leaves the watch. */
abstract class Listener<R> implements WatchObserver, Unsubscribable {
  protected readonly subscriber: Subscriber<R>
  readonly #registry: Registry
  readonly #id: string

  constructor(registry: Registry, id: string, subscriber: Subscriber<R>) {
    this.#registry = registry
    this.#id = id
    this.subscriber = subscriber
  }

  abstract signal(raw: RawEntry | undefined, freshness: Freshness): void

  error(error: StateStoreError): void {
    this.subscriber.error(error)
  }

  complete(): void {
    this.subscriber.complete()
  }

  unsubscribe(): void {
    this.#registry.leave(this.#id, this)
  }
}

/** What to tell a subscriber of an entry. */
export type Emit<T, R> = (entry: Entry<T>, subscriber: Subscriber<R>) => void

/** Passes every new entry on. */
export class EntryListener<T, R> extends Listener<R> {
  readonly #decoder: EntryDecoder<T>
  readonly #emit: Emit<T, R>
  #shown: RawEntry | undefined = undefined

  constructor(registry: Registry, id: string, subscriber: Subscriber<R>, decoder: EntryDecoder<T>, emit: Emit<T, R>) {
    super(registry, id, subscriber)
    this.#decoder = decoder
    this.#emit = emit
  }

  override signal(raw: RawEntry | undefined): void {
    if (raw === undefined || raw === this.#shown) return
    this.#shown = raw
    this.#emit(this.#decoder.entry(raw), this.subscriber)
  }
}

/** Passes every new state of freshness on. */
export class FreshnessListener extends Listener<Freshness> {
  #shown: Freshness['state'] | undefined = undefined

  override signal(_raw: RawEntry | undefined, freshness: Freshness): void {
    if (freshness.state === this.#shown) return
    this.#shown = freshness.state
    this.subscriber.next(freshness)
  }
}
