import type { Observable, Subscriber, Unsubscribable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { StoreCommands } from '../requests/commands.js'
import type { Freshness } from '../watch/freshness.js'
import type { Registry } from '../watch/registry.js'
import type { WatchObserver } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import type { Codec } from './codec.js'

/** Warns developers on the console of what is allowed and is hardly what they mean, once of each kind. */
export function warnOnce(): KeyHost['warn'] {
  const given = new Set<string>()
  return (kind, words) => {
    if (given.has(kind)) return
    given.add(kind)
    console.warn(`rx-statestore: ${words}`)
  }
}

/** What keys need of their client. */
export interface KeyHost {
  readonly store: StoreCommands
  readonly registry: Registry
  /** Default of a request, ms. */
  readonly timeout: number
  readonly report: (error: StateStoreError) => void
  /** Tells developers once of what they hardly mean. */
  readonly warn: (kind: 'glob' | 'lease', words: string) => void
  /** The state of the connection, at once and then with every change; completes when the client is closed. */
  readonly link$: Observable<{ readonly state: string }>
  /** Carried by every write that brings none of its own. */
  readonly fencingToken?: Hlc | undefined
  /** What has to be done before the client may close. */
  readonly farewells: Set<Farewell>
}

/**
 * Called when the client is closed on purpose, with whether it is connected; the client waits until the result completes.
 * A farewell is bounded in time and never errors.
 */
export type Farewell = (isConnected: boolean) => Observable<unknown>

/** Where the library finds what a key is made of; not for users. */
export const SOURCE: unique symbol = Symbol('source')

/** Where it finds what tells a watched glob from others; not for users. */
export const GLOB: unique symbol = Symbol('glob')

/** A key with its codec, where its client is: what a handle and its listeners share. */
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

  /** Decodes what a watch knows, once however many subscribers there are. */
  entry(raw: RawEntry): Entry<T> {
    if (this.#entry === undefined || this.#raw !== raw) {
      this.#raw = raw
      this.#entry = this.decode(raw)
      if (this.#entry.op === 'invalid') this.host.report(this.#entry.error)
    }
    return this.#entry
  }

  /** The same, but decoded anew and without a word to anybody. */
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

  /** The value of stored bytes. Raises {@link DecodeError} for whatever the codec throws. */
  value(bytes: Uint8Array, version: Hlc | undefined): T {
    try {
      return this.codec.decode(bytes)
    } catch (cause) {
      throw new DecodeError(this.key.text, version?.toString(), cause)
    }
  }
}

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
