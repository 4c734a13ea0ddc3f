import { Observable, type Subscriber } from 'rxjs'
import type { KeyName } from '../../core/protocol/commands.js'
import { toHex } from '../../core/util/bytes.js'
import { checkOptionNames, checkPositiveInteger, type OptionNames } from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { type Codec, checkCodec } from '../keys/codec.js'
import { doubtOf, toGlob } from '../keys/scan.js'
import { GLOB, type KeyHost, KeySource } from '../keys/source.js'
import { HOST, StoreView } from '../keys/store-view.js'
import type { GlobObserver } from '../watch/shared-registration.js'
import type { Entry, Freshness, RawEntry } from '../watch/watch-state.js'
import { GlobRegistry } from './glob-registry.js'
import type { Terms } from './glob-watch.js'

/** Options of {@link matching}. */
export interface MatchingOptions {
  /** Most keys there may be; with more the watch ends with `overflow`. Default 10,000. */
  readonly maxKeys?: number | undefined
  /**
   * ms from one scan to the next at a store that does not tell of new keys, as others than that of this package. It is how
   * late a new key may be told of, and one that comes and goes in between is not told of at all. Default 5,000.
   */
  readonly scanInterval?: number | undefined
}

const NAMES: OptionNames<MatchingOptions> = { maxKeys: true, scanInterval: true }

/**
 * The keys of a store that fit a glob, watched together: made by {@link matching}. Costs nothing until somebody
 * subscribes. All of its observables share one registration, made by the first subscriber and ended with the last, and
 * live on through reconnects. They complete when the client is closed, and error with `overflow` when there are more keys
 * than may be, `unknown-command` when the store can neither tell of keys by a glob nor list them, `syntax-error` for a glob it
 * cannot read, and with whatever else ends a watch of a key.
 */
export class Matching<T> {
  readonly #glob: Uint8Array
  readonly #codec: Codec<T>
  readonly #terms: Terms
  readonly #host: KeyHost
  /** What was decoded, so that it is once for all subscribers. */
  readonly #entries = new WeakMap<RawEntry, Entry<T>>()

  /**
   * The latest entry of every key there is, then every change of every key once, with rising versions for each: keys that
   * come are `set`, keys that go `delete`, or `absent` when that was found out by reading. A key that may not be read any
   * more is `absent`.
   */
  readonly entries$: Observable<Entry<T>> = this.#observe(subscriber => ({ entry: entry => subscriber.next(entry) }))

  /**
   * The values of all keys by their names, as a map that never changes: a new one whenever something did, the first when
   * all keys have been read. Changes of one turn of the event loop make one map; of thousands of keys, those of as many ms.
   * Keys whose value does not decode are left out.
   */
  readonly map$: Observable<ReadonlyMap<string, T>> = this.#observe(subscriber => {
    const values = new Map<string, T>()
    const { clock } = this.#host.registry
    let [cancel, isKnown]: [(() => void) | undefined, boolean] = [undefined, false]
    const emit = (): void => {
      cancel = undefined
      subscriber.next(new Map(values))
    }
    subscriber.add(() => cancel?.())
    return {
      entry: entry => {
        if (entry.op === 'set') values.set(entry.key, entry.value)
        else values.delete(entry.key)
        // To copy a large map each turn would take all the time there is while many keys come.
        if (isKnown) cancel ??= clock.schedule(values.size >> 10, emit)
      },
      freshness: ({ state }) => {
        if (isKnown || state !== 'live') return
        isKnown = true
        emit()
      },
    }
  })

  /**
   * Whether the keys and their values can be relied on, at once and then whenever that changes: `live` when all keys there
   * are have been read on this connection, and are told of.
   */
  readonly freshness$: Observable<Freshness> = this.#observe(subscriber => ({
    freshness: freshness => subscriber.next(freshness),
  }))

  /** Use {@link matching}. */
  constructor(glob: string | Uint8Array, codec: Codec<T>, options: MatchingOptions, host: KeyHost) {
    checkOptionNames('matching', options, NAMES)
    const { maxKeys = 10_000, scanInterval = 5_000 } = options
    checkPositiveInteger('maxKeys', maxKeys)
    checkPositiveInteger('scanInterval', scanInterval)
    this.#glob = toGlob(glob)
    this.#codec = checkCodec(codec)
    this.#terms = { maxKeys, scanInterval }
    this.#host = host
    const doubt = doubtOf(glob)
    if (doubt) host.warn('glob', doubt)
  }

  /** What tells it from others. */
  get [GLOB](): readonly [host: KeyHost['registry'], glob: string, terms: string, codec: Codec<T>] {
    return [this.#host.registry, toHex(this.#glob), Object.values(this.#terms).join(), this.#codec]
  }

  #observe<R>(listen: (subscriber: Subscriber<R>) => Partial<Listeners<T>>): Observable<R> {
    return new Observable<R>(subscriber => {
      const globs = this.#host.registry.globs(GlobRegistry)
      const { entry, freshness } = listen(subscriber)
      const observer: GlobObserver = {
        entry: (key, raw) => {
          if (entry && !subscriber.closed) entry(this.#entryOf(key, raw))
        },
        freshness: now => {
          if (!subscriber.closed) freshness?.(now)
        },
        error: error => subscriber.error(error),
        complete: () => subscriber.complete(),
      }
      subscriber.add(() => globs.leave(this.#glob, observer))
      globs.join(this.#glob, this.#terms, observer)
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
  readonly entry: (entry: Entry<T>) => void
  readonly freshness: (freshness: Freshness) => void
}

/**
 * Watches all keys of a store that fit a glob, those that come included; see {@link StoreView.scan} for what stands in one. The
 * store of this package tells of them by itself. At any other the client scans again and again, and watches each key that it
 * finds: see {@link MatchingOptions.scanInterval}. Throws `argument` for an empty glob, wrong options and for anything but a store
 * and a codec.
 *
 * @example
 * ```ts
 * matching(store, 'sensor/*', number).map$.subscribe(readings => draw(readings))
 * ```
 */
export function matching<T>(
  store: StoreView,
  glob: string | Uint8Array,
  codec: Codec<T>,
  options: MatchingOptions = {},
): Matching<T> {
  if (!(store instanceof StoreView)) throw new ArgumentError(`Expected a store, got \`${formatValue(store)}\``)
  return new Matching(glob, codec, options, store[HOST])
}
