import type { Subscriber, Unsubscribable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'
import { type Emission, ENTRIES, FRESHNESS, type WatchObserver } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import type { Codec } from './codec.js'
import type { KeyHost } from './host.js'

export const SOURCE: unique symbol = Symbol('source')

export const GLOB: unique symbol = Symbol('glob')

/** A key with its codec and client, shared by a handle and its listeners. */
export class KeySource<T> {
  readonly key: KeyName
  readonly codec: Codec<T>
  readonly host: KeyHost
  #raw: RawEntry | undefined = undefined
  #entry: Entry<T> | undefined = undefined

  constructor(key: KeyName, codec: Codec<T>, host: KeyHost) {
    this.key = key
    this.codec = codec
    this.host = host
  }

  /** Decodes an entry, once for all subscribers, and reports an invalid value. */
  entry(raw: RawEntry): Entry<T> {
    if (this.#entry === undefined || this.#raw !== raw) {
      this.#raw = raw
      this.#entry = this.decode(raw)
      if (this.#entry.op === 'invalid') this.host.report(this.#entry.error)
    }
    return this.#entry
  }

  /** Decodes an entry without caching or reporting. */
  decode({ op, value, version, source, reason = 'unknown' }: RawEntry): Entry<T> {
    const key = this.key.text
    if (op !== 'set' || value === undefined) {
      return { key, op: op === 'delete' ? op : 'absent', value: undefined, version, source, reason }
    }
    try {
      return { key, op, value: this.value(value, version), version, source }
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      return { key, op: 'invalid', value: undefined, error, version, source }
    }
  }

  value(bytes: Uint8Array, version: Hlc | undefined): T {
    try {
      return this.codec.decode(bytes)
    } catch (cause) {
      throw new DecodeError(this.key.text, version?.toString(), cause)
    }
  }
}

abstract class Listener<T, R> implements WatchObserver, Unsubscribable {
  abstract readonly emits: Emission
  protected readonly source: KeySource<T>
  protected readonly subscriber: Subscriber<R>

  constructor(source: KeySource<T>, subscriber: Subscriber<R>) {
    this.source = source
    this.subscriber = subscriber
  }

  abstract signal(entries: readonly RawEntry[], freshness: Freshness): void

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

abstract class NewEntryListener<T, R> extends Listener<T, R> {
  override readonly emits = ENTRIES
  #last: RawEntry | undefined = undefined

  override signal(entries: readonly RawEntry[]): void {
    for (const raw of entries) {
      if (raw === this.#last) continue
      this.#last = raw
      this.emit(this.source.entry(raw))
    }
  }

  protected abstract emit(entry: Entry<T>): void
}

export class EntryListener<T> extends NewEntryListener<T, Entry<T>> {
  protected override emit(entry: Entry<T>): void {
    this.subscriber.next(entry)
  }
}

export class ValueListener<T> extends NewEntryListener<T, T | undefined> {
  protected override emit(entry: Entry<T>): void {
    if (entry.op !== 'invalid') this.subscriber.next(entry.value)
  }
}

export class FreshnessListener<T> extends Listener<T, Freshness> {
  override readonly emits = FRESHNESS
  #last: Freshness['state'] | undefined = undefined

  override signal(_entries: readonly RawEntry[], freshness: Freshness): void {
    if (freshness.state === this.#last) return
    this.#last = freshness.state
    this.subscriber.next(freshness)
  }
}
