import { map, type Observable } from 'rxjs'
import type { AbortOptions } from './abort.js'
import { bytes, type Codec, checkCodec } from './codec.js'
import type { Entry } from './entry.js'
import { type DeleteResult, Key, type SetResult } from './key.js'
import { toKeyName } from './key-name.js'
import type { DeleteOptions, RequestOptions, SetOptions } from './options.js'
import { Scan } from './scan.js'
import { type KeyHost, KeySource } from './source.js'
import { StoreRequest } from './store-request.js'
import { watchAll } from './watch-all.js'

/** Where the library finds what a view's keys need; not for users. */
export const HOST: unique symbol = Symbol('host')

/** Reads, writes and watches keys: a store, or a view of it whose writes carry a fencing token. */
export abstract class StoreView {
  abstract readonly [HOST]: KeyHost

  /**
   * A key of the store. Without a codec its values are bytes. Throws `argument` for an empty key and for what is no codec.
   *
   * @example
   * ```ts
   * const temperature = store.key('thermostat1\\temperature', number)
   * ```
   */
  key(name: string | Uint8Array): Key<Uint8Array>
  key<T>(name: string | Uint8Array, codec: Codec<T>): Key<T>
  key(name: string | Uint8Array, codec: Codec<unknown> = bytes): unknown {
    return new Key(new KeySource(toKeyName(name), checkCodec(codec), this[HOST]))
  }

  /**
   * Watches a set of keys that changes: every value of `keys$` is the whole set, and what is new in it is watched, what
   * is gone no longer. Entries of all keys in one stream; a key is shared with whoever watches it otherwise. Errors as a
   * single watch does, for any key.
   *
   * @example
   * ```ts
   * const keys$ = ids$.pipe(map(ids => ids.map(id => `asset/${id}`)))
   * store.watchAll(keys$, json<Asset>()).subscribe(entry => table.set(entry.key, entry.value))
   * ```
   */
  watchAll<T>(keys$: Observable<Iterable<string | Uint8Array>>, codec: Codec<T>): Observable<Entry<T>> {
    return watchAll(keys$.pipe(map(names => Array.from(names, name => this.key(name, codec)))))
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
    return new StoreRequest(() => this.key(name).delete(options))
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
