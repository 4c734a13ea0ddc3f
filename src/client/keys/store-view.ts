import { isObservable, map, type Observable, of } from 'rxjs'
import { StoreRequest } from '../../core/util/awaitable.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { toKeyName } from '../watch/key-name.js'
import type { Entry } from '../watch/watch-state.js'
import { bytes, type Codec, checkCodec } from './codec.js'
import { type DeleteResult, Key, type SetResult } from './key.js'
import type { AbortOptions, DeleteOptions, RequestOptions, SetOptions } from './options.js'
import { Scan } from './scan.js'
import { type KeyHost, KeySource } from './source.js'
import { watchAll } from './watch-all.js'

/** Keys, or an observable of which every value is all of them. */
export type Keys<K> = Iterable<K> | Observable<Iterable<K>>

/** Where the library finds what a view's keys need; not for users. */
export const HOST: unique symbol = Symbol('host')

/** Reads, writes and watches keys: a store, or a view of it whose writes carry a fencing token. */
export abstract class StoreView {
  abstract readonly [HOST]: KeyHost

  /**
   * A key of the store, and the codec of its values: `number`, `text`, `boolean`, `bytes`, `json()`, or one of yours. Throws
   * `argument` for an empty key and for anything but a codec.
   *
   * @example
   * ```ts
   * const temperature = store.key('thermostat1/temperature', number)
   * ```
   */
  key<T>(name: string | Uint8Array, codec: Codec<T>): Key<T> {
    return new Key(new KeySource(toKeyName(name), checkCodec(codec), this[HOST]))
  }

  /**
   * Watches a set of keys, which may change: every value of an observable is the whole set, and what is new in it is
   * watched, what is gone no longer. They are names, with the codec of their values, or handles, which have theirs. Entries
   * of all keys in one stream; a key is shared with its other watches. Errors as a single watch does, for any key,
   * and with `argument` for anything but a key. For all keys that fit a glob see `rx-statestore/matching`.
   *
   * @example
   * ```ts
   * const keys$ = ids$.pipe(map(ids => ids.map(id => `asset/${id}`)))
   * store.watchAll(keys$, json<Asset>()).subscribe(entry => table.set(entry.key, entry.value))
   * store.watchAll([setPoint, temperature]).subscribe(({ key, value }) => show(key, value))
   * ```
   */
  watchAll<T>(keys: Keys<Key<T>>): Observable<Entry<T>>
  watchAll<T>(keys: Keys<string | Uint8Array | Key<T>>, codec: Codec<T>): Observable<Entry<T>>
  watchAll<T>(keys: Keys<string | Uint8Array | Key<T>>, codec?: Codec<T>): Observable<Entry<T>> {
    // A text is iterable, too, but its letters are not keys that anybody means.
    if (typeof keys === 'string' || (Object(keys)[Symbol.iterator] === undefined && !isObservable(keys))) {
      throw new ArgumentError(`Expected keys, or an observable of them, got \`${formatValue(keys)}\``)
    }
    const keys$ = isObservable(keys) ? keys : of(keys)
    const keyOf = (key: string | Uint8Array | Key<T>): Key<T> =>
      key instanceof Key ? key : this.key(key, checkCodec(codec))
    return watchAll(keys$.pipe(map(names => Array.from(names, keyOf))))
  }

  /**
   * Lists the keys that fit a glob (state store protocol in the field: SCAN), page by page and in no particular order, as
   * handles that cost nothing until they are used. `*` stands for any bytes, `?` for one, `[a-z]` and `[^a-z]` for one of
   * these or one but these; `\` takes what follows for itself, so a `\` of a key is doubled: see {@link escapeGlob}.
   *
   * With the store of this package, a key that exists from beginning to end comes once, no key comes twice, and what is
   * written meanwhile may be missing. A page that got lost with the connection is asked for again.
   *
   * Cold. Errors with `argument` for an empty glob or wrong options, `unknown-command` when the store cannot list its keys,
   * `syntax-error` when it was restarted meanwhile, `timeout` (of a page), `aborted`, `closed` or what else the store answers.
   *
   * @example
   * ```ts
   * store.scan('asset/*', json<Asset>()).pipe(mergeMap(key => key.get(), 64)).subscribe(entry => show(entry))
   * ```
   */
  scan(glob?: string | Uint8Array): Scan<Uint8Array>
  scan<T>(glob: string | Uint8Array, codec: Codec<T>, options?: RequestOptions & AbortOptions): Scan<T>
  scan(
    glob: string | Uint8Array = '*',
    codec: Codec<unknown> = bytes,
    options: RequestOptions & AbortOptions = {},
  ): unknown {
    return new Scan(glob, codec, options, this[HOST])
  }

  /** Reads a key once; see {@link Key.get}. */
  get<T>(name: string | Uint8Array, codec: Codec<T>, options?: RequestOptions & AbortOptions): StoreRequest<Entry<T>> {
    return new StoreRequest(() => this.key(name, codec).get(options))
  }

  /** Writes a key once; see {@link Key.set}. */
  set<T>(
    name: string | Uint8Array,
    value: T,
    codec: Codec<T>,
    options?: SetOptions & AbortOptions,
  ): StoreRequest<SetResult> {
    return new StoreRequest(() => this.key(name, codec).set(value, options))
  }

  /** Deletes a key; see {@link Key.delete}. */
  delete(name: string | Uint8Array, options?: DeleteOptions & AbortOptions): StoreRequest<DeleteResult> {
    return new StoreRequest(() => this.key(name, bytes).delete(options))
  }

  /** Deletes a key if it holds the value; see {@link Key.deleteIf}. */
  deleteIf<T>(
    name: string | Uint8Array,
    value: T,
    codec: Codec<T>,
    options?: DeleteOptions & AbortOptions,
  ): StoreRequest<DeleteResult> {
    return new StoreRequest(() => this.key(name, codec).deleteIf(value, options))
  }
}
