import { concatMap, defer, EMPTY, firstValueFrom, map, Observable, of, repeat, tap } from 'rxjs'
import { utf8 } from '../../core/util/bytes.js'
import { checkOptionNames } from '../../core/util/check.js'
import { AbortError } from '../../core/util/errors.js'
import { checkName, toKeyName } from '../watch/key-name.js'
import { type Codec, checkCodec } from './codec.js'
import type { KeyHost } from './host.js'
import { Key } from './key.js'
import {
  ABORT_NAMES,
  type AbortOptions,
  abortable,
  checkSignal,
  checkTimeout,
  GET_NAMES,
  type RequestOptions,
} from './options.js'
import { KeySource } from './source.js'

/**
 * The keys of the store that match a glob, as handles. Made by {@link StoreView.scan}. Cold: every subscription starts
 * a new scan, which requests a page once all keys of the previous page have been emitted.
 *
 * The observable emits as fast as the store responds, because RxJS has no backpressure. The async iterable requests a
 * page only when the loop has consumed the previous page:
 *
 * @example
 * ```ts
 * for await (const key of store.scan('asset/*', json<Asset>()))
 *   await key.get()
 * ```
 */
export class Scan<T> extends Observable<Key<T>> implements AsyncIterable<Key<T>> {
  readonly #glob: string | Uint8Array
  readonly #codec: Codec<T>
  readonly #options: RequestOptions & AbortOptions
  readonly #host: KeyHost

  constructor(glob: string | Uint8Array, codec: Codec<T>, options: RequestOptions & AbortOptions, host: KeyHost) {
    super(subscriber => this.#keys().subscribe(subscriber))
    this.#glob = glob
    this.#codec = checkCodec(codec)
    this.#options = options
    this.#host = host
    const warning = globWarning(glob)
    if (warning) host.warn('glob', warning)
  }

  /** Iterates over the keys. Throws the errors of the observable. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Key<T>, void> {
    const { signal, page: fetchPage } = this.#checkOptions()
    let token: Uint8Array | undefined
    do {
      const page = await firstValueFrom(abortable(fetchPage(token), signal))
      for (const key of page.keys) {
        if (signal?.aborted) throw new AbortError(signal.reason)
        yield this.#key(key)
      }
      token = page.token
    } while (token !== undefined)
  }

  #keys(): Observable<Key<T>> {
    return defer(() => {
      const { signal, page: fetchPage } = this.#checkOptions()
      let token: Uint8Array | undefined
      const keys$ = defer(() => fetchPage(token)).pipe(
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

  #checkOptions() {
    checkOptionNames('scan', this.#options, { ...GET_NAMES, ...ABORT_NAMES })
    const { store, timeout: defaultMs } = this.#host
    const glob = toGlob(this.#glob)
    const timeout = checkTimeout(this.#options.timeout, defaultMs)
    const signal = checkSignal(this.#options.signal)
    return { signal, page: (token: Uint8Array | undefined) => store.scan(glob, token, timeout) }
  }

  #key(bytes: Uint8Array): Key<T> {
    return new Key(new KeySource(toKeyName(bytes), this.#codec, this.#host))
  }
}

/**
 * Returns a glob that matches exactly this text. Required for names that are not known in advance or that contain `\`.
 *
 * @example
 * ```ts
 * // All keys that begin with `thermostat1/`
 * store.scan(`${escapeGlob('thermostat1/')}*`)
 * ```
 */
export const escapeGlob = (text: string): string => text.replace(/[*?[\]\\^!-]/g, '\\$&')

export function toGlob(glob: string | Uint8Array): Uint8Array {
  checkName('the glob', glob, '; `*` matches all keys')
  return typeof glob === 'string' ? utf8(glob) : new Uint8Array(glob)
}

/** Returns a warning about a probable mistake: an MQTT topic filter, an unclosed class, or a glob that matches one key. */
export function globWarning(glob: string | Uint8Array): string | undefined {
  if (typeof glob !== 'string') return undefined
  // An unclosed class matches up to the end, so that the time is linear.
  const parts = Array.from(glob.matchAll(/\\.|\[(?:\\.|[^\]\\])*(\])?/gs))
  if (parts.some(([part, close]) => part.startsWith('[') && close === undefined))
    return `the glob \`${glob}\` has a \`[\` without a \`]\`: for the character \`[\` write \`\\[\`, see escapeGlob`
  // A backslash shows that the caller knows the syntax.
  if (/[*?[\\]/.test(glob)) return undefined
  const corrected = `${glob.replace(/(^|\/)[#+](?=\/|$)/g, '$1*')}`
  if (corrected !== glob) return `\`#\` and \`+\` are not wildcards in the glob \`${glob}\`: write \`${corrected}\``
  const prefixGlob = `${glob}*`
  return `the glob \`${glob}\` matches a single key: for all keys that begin with it write \`${prefixGlob}\``
}
