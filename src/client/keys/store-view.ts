import { from, map, type Observable, type ObservableInput, observable, of } from 'rxjs'
import { StoreRequest } from '../../core/util/awaitable.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { toKeyName } from '../watch/key-name.js'
import type { Entry } from '../watch/watch-state.js'
import { bytes, type Codec, checkCodec } from './codec.js'
import type { KeyHost } from './host.js'
import { type DeleteResult, heldBy, Key, type SetResult } from './key.js'
import type { AbortOptions, DeleteOptions, RequestOptions, SetOptions } from './options.js'
import { Scan } from './scan.js'
import { KeySource, SOURCE } from './source.js'
import { watchAll } from './watch-all.js'

/** A set of keys, or an observable that emits the whole set with every value. */
export type Keys<K> = Iterable<K> | ObservableInput<Iterable<K>>

/** Internal: the client of a view. */
export const HOST: unique symbol = Symbol('host')

/**
 * Reads, writes and watches keys. A client is a store view, and so is a view of a client whose writes carry a fencing
 * token.
 */
export abstract class StoreView {
  abstract readonly [HOST]: KeyHost

  /**
   * Returns a handle of a key, without sending anything. The codec of the values is `number`, `text`, `boolean`,
   * `bytes`, `json()` or a custom one. Throws `argument` for an empty key and for anything but a codec.
   *
   * @example
   * ```ts
   * const temperature = store.key('thermostat1/temperature', number)
   * ```
   */
  key<T>(name: string | Uint8Array, codec: Codec<T>): Key<T> {
    const host = heldBy(this, HOST, 'store.key')
    return new Key(new KeySource(toKeyName(name), checkCodec(codec), host))
  }

  /**
   * Watches a set of keys and emits their entries. Every value of an observable is the whole set: keys
   * that are new in the set are watched, and keys that are missing from it are no longer watched. Keys are names, with
   * the codec of their values, or handles. A key whose handle has another codec than in the set before is decoded and
   * emitted again, so create custom codecs once; codecs of `json` with the same schema count as one. Of several handles
   * of a key in a set, the last applies. A key shares its registration with its other watches. Errors if the watch of
   * any key errors, and with `argument` for anything but a key of this store. For all keys that match a glob, see
   * `rx-statestore/matching`.
   *
   * @example
   * ```ts
   * const keys$ = ids$.pipe(map(ids => ids.map(id => `asset/${id}`)))
   * store
   *   .watchAll(keys$, json<Asset>())
   *   .subscribe(entry => table.set(entry.key, entry.value))
   * store
   *   .watchAll([setPoint, temperature])
   *   .subscribe(({ key, value }) => show(key, value))
   * ```
   */
  watchAll<T>(keys: Keys<Key<T>>): Observable<Entry<T>>
  watchAll<T>(keys: Keys<string | Uint8Array | Key<T>>, codec: Codec<T>): Observable<Entry<T>>
  watchAll<T>(keys: Keys<string | Uint8Array | Key<T>>, codec?: Codec<T>): Observable<Entry<T>> {
    const keys$ = isIterable(keys) ? of(keys) : observableOf(keys)
    const keyOf = (key: string | Uint8Array | Key<T>): Key<T> => {
      if (!(key instanceof Key)) return this.key(key, checkCodec(codec))
      // Entries only have the name of their key, so keys of two stores could not be distinguished.
      if (key[SOURCE].host.registry === this[HOST].registry) return key
      throw new ArgumentError(
        `Expected keys of this store, got ${JSON.stringify(key.name)} of another store: merge a \`watchAll\` of each`,
      )
    }
    const handles = (names: unknown): readonly Key<T>[] => {
      if (isIterable<string | Uint8Array | Key<T>>(names)) return Array.from(names, keyOf)
      throw notKeys(names)
    }
    return watchAll(keys$.pipe(map(handles)))
  }

  /**
   * Lists the keys that match a glob, as handles, page by page and in no particular order (SCAN; state store protocol
   * in the field). `*` matches any bytes, `?` one byte, `[a-z]` one byte in the range and `[^a-z]` one byte outside the
   * range; `\` escapes the next byte, so a `\` in a key must be doubled: see {@link escapeGlob}.
   *
   * With the store of this package, a key that exists during the whole scan is emitted once, no key is emitted twice, and
   * keys written during the scan may be missing. A page lost with the connection is requested again.
   *
   * Cold. Errors with `argument` for an empty glob or wrong options, `unknown-command` when the store cannot list keys,
   * `syntax-error` when it restarted during the scan, `timeout` (per page), `aborted`, `closed`, or an error of the store.
   *
   * @example
   * ```ts
   * store
   *   .scan('asset/*', json<Asset>())
   *   .pipe(mergeMap(key => key.get(), 64))
   *   .subscribe(entry => show(entry))
   * ```
   */
  scan(glob?: string | Uint8Array): Scan<Uint8Array>
  scan<T>(glob: string | Uint8Array, codec: Codec<T>, options?: RequestOptions & AbortOptions): Scan<T>
  scan(
    glob: string | Uint8Array = '*',
    codec: Codec<unknown> = bytes,
    options: RequestOptions & AbortOptions = {},
  ): unknown {
    return new Scan(glob, codec, options, heldBy(this, HOST, 'store.scan'))
  }

  /** Reads a key once; see {@link Key.get}. */
  get<T>(name: string | Uint8Array, codec: Codec<T>, options?: RequestOptions & AbortOptions): StoreRequest<Entry<T>> {
    heldBy(this, HOST, 'store.get')
    return new StoreRequest(() => this.key(name, codec).get(options))
  }

  /** Writes a key once; see {@link Key.set}. */
  set<T>(
    name: string | Uint8Array,
    value: T,
    codec: Codec<T>,
    options?: SetOptions & AbortOptions,
  ): StoreRequest<SetResult> {
    const { reportWrite } = heldBy(this, HOST, 'store.set')
    return new StoreRequest(() => this.key(name, codec).set(value, options), reportWrite)
  }

  /** Deletes a key; see {@link Key.delete}. */
  delete(name: string | Uint8Array, options?: DeleteOptions & AbortOptions): StoreRequest<DeleteResult> {
    const { reportWrite } = heldBy(this, HOST, 'store.delete')
    return new StoreRequest(() => this.key(name, bytes).delete(options), reportWrite)
  }

  /** Deletes a key if it holds the value; see {@link Key.deleteIf}. */
  deleteIf<T>(
    name: string | Uint8Array,
    value: T,
    codec: Codec<T>,
    options?: DeleteOptions & AbortOptions,
  ): StoreRequest<DeleteResult> {
    const { reportWrite } = heldBy(this, HOST, 'store.deleteIf')
    return new StoreRequest(() => this.key(name, codec).deleteIf(value, options), reportWrite)
  }
}

const notKeys = (got: unknown): ArgumentError =>
  new ArgumentError(`Expected keys, or an observable of them, got \`${formatValue(got)}\``)

/** Returns whether the value is a set of keys. A string is iterable, but its characters are not the intended keys. */
const isIterable = <K>(keys: unknown): keys is Iterable<K> =>
  typeof keys !== 'string' && Symbol.iterator in Object(keys)

function observableOf<K>(keys$: ObservableInput<K>): Observable<K> {
  if ([observable, 'then', Symbol.asyncIterator].some(method => method in Object(keys$))) return from(keys$)
  throw notKeys(keys$)
}
