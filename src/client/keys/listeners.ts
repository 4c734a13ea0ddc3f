import type { Subscriber, Unsubscribable } from 'rxjs'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Entry } from '../watch/entry.js'
import type { Freshness } from '../watch/freshness.js'
import type { WatchObserver } from '../watch/watch.js'
import type { RawEntry } from '../watch/watch-state.js'
import type { KeySource } from './source.js'

/** A subscriber as a watch sees it; unsubscribing leaves the watch. */
abstract class Listener<T, R> implements WatchObserver, Unsubscribable {
  protected readonly source: KeySource<T>
  protected readonly subscriber: Subscriber<R>

  constructor(source: KeySource<T>, subscriber: Subscriber<R>) {
    this.source = source
    this.subscriber = subscriber
  }

  abstract signal(raw: RawEntry | undefined, freshness: Freshness): void

  /** Joins the watch for as long as the subscriber is there. */
  join(): void {
    const { host, key } = this.source
    this.subscriber.add(this)
    host.registry.join(key, this)
  }

  error(error: StateStoreError): void {
    this.subscriber.error(error)
  }

  complete(): void {
    this.subscriber.complete()
  }

  unsubscribe(): void {
    const { host, key } = this.source
    host.registry.leave(key, this)
  }
}

/** Passes every new entry on. */
export class EntryListener<T> extends Listener<T, Entry<T>> {
  #shown: RawEntry | undefined = undefined

  override signal(raw: RawEntry | undefined): void {
    if (raw === undefined || raw === this.#shown) return
    this.#shown = raw
    this.subscriber.next(this.source.entry(raw))
  }
}

/** Passes every new value on; what does not decode is left out. */
export class ValueListener<T> extends Listener<T, T | undefined> {
  #shown: RawEntry | undefined = undefined

  override signal(raw: RawEntry | undefined): void {
    if (raw === undefined || raw === this.#shown) return
    this.#shown = raw
    const entry = this.source.entry(raw)
    if (entry.op !== 'invalid') this.subscriber.next(entry.value)
  }
}

/** Passes every new state of freshness on. */
export class FreshnessListener<T> extends Listener<T, Freshness> {
  #shown: Freshness['state'] | undefined = undefined

  override signal(_raw: RawEntry | undefined, freshness: Freshness): void {
    if (freshness.state === this.#shown) return
    this.#shown = freshness.state
    this.subscriber.next(freshness)
  }
}
