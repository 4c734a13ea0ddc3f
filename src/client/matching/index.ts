import { type InteropObservable, Observable, observable, type Subscriber } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { toHex } from '../../core/util/bytes.js'
import { checkArgument, checkOptionNames, checkPositiveInteger, type OptionNames } from '../../core/util/check.js'
import { type Codec, checkCodec } from '../keys/codec.js'
import type { KeyHost } from '../keys/host.js'
import { copyDelayMs, uniqueName } from '../keys/map-name.js'
import { globWarning, toGlob } from '../keys/scan.js'
import { GLOB, KeySource } from '../keys/source.js'
import { HOST, StoreView } from '../keys/store-view.js'
import type { Freshness } from '../watch/freshness.js'
import type { GlobObserver } from '../watch/shared-registration.js'
import { BOTH, type Emission, ENTRIES, FRESHNESS } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import { GlobRegistry } from './glob-registry.js'
import type { GlobOptions } from './glob-watch.js'

/** Options of {@link matching}. */
export interface MatchingOptions {
  /** Maximum number of keys. With more keys, the watch ends with `overflow`. Default 10,000. */
  readonly maxKeys?: number | undefined
  /**
   * Interval in ms at which a store that does not notify of new keys is scanned; the store of this package does notify.
   * A new key may be reported with this delay, and a key that is created and deleted in between is missed. Default
   * 5,000.
   */
  readonly scanInterval?: number | undefined
}

const NAMES: OptionNames<MatchingOptions> = { maxKeys: true, scanInterval: true }

/**
 * The keys of a store that match a glob, watched together. Made by {@link matching}. Sends nothing before the first
 * subscription. All observables of a matching share one registration, which ends with the last subscriber and is
 * renewed after reconnects. The observables complete when the client is closed, and error with `overflow` when more
 * than `maxKeys` keys match, `unknown-command` when the store can neither notify by globs nor list keys, `syntax-error`
 * when it cannot parse the glob, and with any other error that ends a key's watch.
 */
export class Matching<T> implements InteropObservable<Entry<T>> {
  declare readonly [Symbol.observable]: () => Observable<Entry<T>>
  readonly #glob: Uint8Array
  readonly #codec: Codec<T>
  readonly #limits: GlobOptions
  readonly #host: KeyHost
  readonly #entries = new WeakMap<RawEntry, Entry<T>>()

  /**
   * Emits the latest entry of every existing key, then every change once, with rising versions per key: `set` for new
   * keys, `delete` for removed ones, `absent` when a read found that the key is missing or must no longer be read.
   */
  readonly entries$: Observable<Entry<T>> = this.#observe(ENTRIES, subscriber => ({
    entry: entry => subscriber.next(entry),
  }))

  /**
   * Emits the values of all keys by name, as an immutable map: the first when all keys have been read, then a new one
   * after changes. Changes of one turn of the event loop are batched; a larger map batches the changes of about 1 ms
   * per 1,024 keys. Keys whose value does not decode are omitted. The name of a key whose bytes are not UTF-8 is its hex
   * (`0xFF`) and a lone surrogate, so that it differs from every text.
   */
  readonly map$: Observable<ReadonlyMap<string, T>> = this.#observe(BOTH, subscriber => {
    const values = new Map<string, T>()
    const { clock } = this.#host.registry
    let [cancel, isKnown]: [(() => void) | undefined, boolean] = [undefined, false]
    const emit = (): void => {
      cancel = undefined
      subscriber.next(new Map(values))
    }
    subscriber.add(() => cancel?.())
    return {
      entry: (entry, key) => {
        if (entry.op === 'set') values.set(uniqueName(key), entry.value)
        else values.delete(uniqueName(key))
        if (isKnown) cancel ??= clock.schedule(copyDelayMs(values), emit)
      },
      freshness: ({ state }) => {
        // Changes of a resync are not batched beyond it, so that the map is current when the keys are live.
        if (state !== 'live' || (isKnown && cancel === undefined)) return
        isKnown = true
        cancel?.()
        emit()
      },
    }
  })

  /**
   * Emits the freshness of the keys and their values, on subscription and after every change: `live` when all existing keys
   * were read on this connection, and the store notifies of changes.
   */
  readonly freshness$: Observable<Freshness> = this.#observe(FRESHNESS, subscriber => ({
    freshness: freshness => subscriber.next(freshness),
  }))

  /** Use {@link matching} instead. */
  constructor(glob: string | Uint8Array, codec: Codec<T>, options: MatchingOptions, host: KeyHost) {
    checkOptionNames('matching', options, NAMES)
    const { maxKeys = 10_000, scanInterval = 5_000 } = options
    checkPositiveInteger('maxKeys', maxKeys)
    checkPositiveInteger('scanInterval', scanInterval)
    this.#glob = toGlob(glob)
    this.#codec = checkCodec(codec)
    this.#limits = { maxKeys, scanInterval }
    this.#host = host
    const warning = globWarning(glob)
    if (warning) host.warn('glob', warning)
  }

  /** Returns values that identify equal watches. */
  get [GLOB](): readonly [host: KeyHost['registry'], glob: string, terms: string, codec: Codec<T>] {
    return [this.#host.registry, toHex(this.#glob), Object.values(this.#limits).join(), this.#codec]
  }

  /** Returns {@link entries$}, so that a matching can be used where RxJS takes an observable. */
  [observable](): Observable<Entry<T>> {
    return this.entries$
  }

  #observe<R>(emits: Emission, listen: (subscriber: Subscriber<R>) => Partial<Listeners<T>>): Observable<R> {
    return new Observable<R>(subscriber => {
      const globs = this.#host.registry.globs(GlobRegistry)
      const { entry, freshness } = listen(subscriber)
      const observer: GlobObserver = {
        emits,
        entry: (key, raw) => {
          if (entry && !subscriber.closed) entry(this.#entryOf(key, raw), key)
        },
        freshness: now => {
          if (!subscriber.closed) freshness?.(now)
        },
        error: error => subscriber.error(error),
        complete: () => subscriber.complete(),
      }
      subscriber.add(() => globs.leave(this.#glob, observer))
      globs.join(this.#glob, this.#limits, observer)
    })
  }

  #entryOf(key: KeyName, raw: RawEntry): Entry<T> {
    const known = this.#entries.get(raw)
    if (known) return known
    const entry = new KeySource(key, this.#codec, this.#host).entry(raw)
    this.#entries.set(raw, entry)
    return entry
  }
}

interface Listeners<T> {
  readonly entry: (entry: Entry<T>, key: KeyName) => void
  readonly freshness: (freshness: Freshness) => void
}

/**
 * Watches all keys of a store that match a glob, including future ones; {@link StoreView.scan} describes the syntax. The
 * store of this package notifies of new keys. At other stores the client scans periodically and watches each key it
 * finds: see {@link MatchingOptions.scanInterval}. Throws `argument` for an empty glob, wrong options, or anything but a
 * store and a codec.
 *
 * @example
 * ```ts
 * matching(store, 'sensor/*', number).map$.subscribe(readings =>
 *   draw(readings),
 * )
 * ```
 */
export function matching<T>(
  store: StoreView,
  glob: string | Uint8Array,
  codec: Codec<T>,
  options: MatchingOptions = {},
): Matching<T> {
  checkArgument(store instanceof StoreView, 'a store', store)
  return new Matching(glob, codec, options, store[HOST])
}
