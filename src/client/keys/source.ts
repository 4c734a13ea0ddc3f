import type { Subscriber, Unsubscribable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'
import type { WatchObserver } from '../watch/watch.js'
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
  protected readonly source: KeySource<T>
  protected readonly subscriber: Subscriber<R>

  constructor(source: KeySource<T>, subscriber: Subscriber<R>) {
    this.source = source
    this.subscriber = subscriber
  }

  abstract signal(raw: RawEntry | undefined, freshness: Freshness): void

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

export class EntryListener<T> extends Listener<T, Entry<T>> {
  #last: RawEntry | undefined = undefined

  override signal(raw: RawEntry | undefined): void {
    if (raw === undefined || raw === this.#last) return
    this.#last = raw
    this.subscriber.next(this.source.entry(raw))
  }
}

export class ValueListener<T> extends Listener<T, T | undefined> {
  #last: RawEntry | undefined = undefined

  override signal(raw: RawEntry | undefined): void {
    if (raw === undefined || raw === this.#last) return
    this.#last = raw
    const entry = this.source.entry(raw)
    if (entry.op !== 'invalid') this.subscriber.next(entry.value)
  }
}

export class FreshnessListener<T> extends Listener<T, Freshness> {
  #last: Freshness['state'] | undefined = undefined

  override signal(_raw: RawEntry | undefined, freshness: Freshness): void {
    if (freshness.state === this.#last) return
    this.#last = freshness.state
    this.subscriber.next(freshness)
  }
}
