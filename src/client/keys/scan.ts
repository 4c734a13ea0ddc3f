import { concatMap, defer, EMPTY, firstValueFrom, map, Observable, of, repeat, tap } from 'rxjs'
import { isWellFormed, utf8 } from '../../core/util/bytes.js'
import { checkOptionNames } from '../../core/util/check.js'
import { AbortError, ArgumentError, formatValue } from '../../core/util/errors.js'
import { toKeyName } from '../watch/key-name.js'
import { type Codec, checkCodec } from './codec.js'
import { Key } from './key.js'
import {
  type AbortOptions,
  abortable,
  checkSignal,
  checkTimeout,
  GET_NAMES,
  LOOP_NAMES,
  type RequestOptions,
} from './options.js'
import { type KeyHost, KeySource } from './source.js'

/**
 * The keys of the store that fit a glob, as handles: made by {@link StoreView.scan}. Cold: every subscriber scans anew,
 * and asks for a page only when all keys of the one before were emitted and it still wants more.
 *
 * As an observable it emits as fast as the store answers, for RxJS has no back pressure. As an async iterable it asks for
 * a page only when the one before is used up:
 *
 * @example
 * ```ts
 * for await (const key of store.scan('asset/*', json<Asset>())) await key.get()
 * ```
 */
export class Scan<T> extends Observable<Key<T>> implements AsyncIterable<Key<T>> {
  readonly #glob: string | Uint8Array
  readonly #codec: Codec<T>
  readonly #options: RequestOptions & AbortOptions
  readonly #host: KeyHost

  /** Use {@link StoreView.scan}. */
  constructor(glob: string | Uint8Array, codec: Codec<T>, options: RequestOptions & AbortOptions, host: KeyHost) {
    super(subscriber => this.#keys().subscribe(subscriber))
    this.#glob = glob
    this.#codec = checkCodec(codec)
    this.#options = options
    this.#host = host
    const doubt = doubtOf(glob)
    if (doubt) host.warn('glob', doubt)
  }

  /** Rejects with what the observable would error with. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Key<T>, void> {
    const { signal, page: pageAt } = this.#terms()
    let token: Uint8Array | undefined
    do {
      const page = await firstValueFrom(abortable(pageAt(token), signal))
      for (const key of page.keys) {
        if (signal?.aborted) throw new AbortError(signal.reason)
        yield this.#key(key)
      }
      token = page.token
    } while (token !== undefined)
  }

  #keys(): Observable<Key<T>> {
    return defer(() => {
      const { signal, page: pageAt } = this.#terms()
      let token: Uint8Array | undefined
      const keys$ = defer(() => pageAt(token)).pipe(
        tap(page => {
          token = page.token
        }),
        concatMap(({ keys }) => keys),
        map(key => this.#key(key)),
        repeat({ delay: () => (token === undefined ? EMPTY : of(token)) }),
      )
      return abortable(keys$, signal)
    })
  }

  /** What was asked for, checked. */
  #terms() {
    checkOptionNames('scan', this.#options, { ...GET_NAMES, ...LOOP_NAMES })
    const { store, timeout: byDefault } = this.#host
    const glob = toGlob(this.#glob)
    const timeout = checkTimeout(this.#options.timeout, byDefault)
    const signal = checkSignal(this.#options.signal)
    return { signal, page: (token: Uint8Array | undefined) => store.scan(glob, token, timeout) }
  }

  #key(bytes: Uint8Array): Key<T> {
    return new Key(new KeySource(toKeyName(bytes), this.#codec, this.#host))
  }
}

/**
 * A glob that fits this text and nothing else, to make one of a name that is not known beforehand, or that has `\`.
 *
 * @example
 * ```ts
 * store.scan(`${escapeGlob('thermostat1/')}*`) // all keys that begin with `thermostat1/`
 * ```
 */
export const escapeGlob = (text: string): string => text.replace(/[*?[\]\\^!-]/g, '\\$&')

/** A glob, checked. Throws {@link ArgumentError}. */
export function toGlob(glob: string | Uint8Array): Uint8Array {
  if (typeof glob !== 'string' && !(glob instanceof Uint8Array)) {
    throw new ArgumentError(
      `Expected the glob to be a string or a Uint8Array, got \`${formatValue(glob)}\` (${typeof glob})`,
    )
  }
  if (glob.length === 0) throw new ArgumentError('Expected the glob to have at least one byte; `*` fits all keys')
  if (typeof glob === 'string' && !isWellFormed(glob)) {
    throw new ArgumentError(`Expected the glob to be text of whole characters, got ${JSON.stringify(glob)}`)
  }
  return typeof glob === 'string' ? utf8(glob) : new Uint8Array(glob)
}

/** What a glob is hardly meant to be, in words: one of MQTT, or one that fits a single key. */
export function doubtOf(glob: string | Uint8Array): string | undefined {
  // With a backslash somebody knows what a wildcard is.
  if (typeof glob !== 'string' || /[*?[\\]/.test(glob)) return undefined
  const meant = `${glob.replace(/(^|\/)[#+](?=\/|$)/g, '$1*')}`
  if (meant !== glob) return `\`#\` and \`+\` are no wildcards in the glob \`${glob}\`: write \`${meant}\``
  const longer = `${glob}*`
  return `the glob \`${glob}\` fits one key alone: for all keys that begin with it write \`${longer}\``
}
