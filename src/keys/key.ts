import { filter, map, Observable } from 'rxjs'
import type { DecodeError } from '../errors.js'
import type { Hlc } from '../hlc/hlc.js'
import { encodeFor } from './codec.js'
import type { Entry } from './entry.js'
import type { Freshness } from './freshness.js'
import { EntryListener, FreshnessListener, ValueListener } from './listeners.js'
import {
  checkSetOptions,
  checkTimeout,
  checkToken,
  type DeleteOptions,
  type RequestOptions,
  type SetOptions,
} from './options.js'
import type { KeySource } from './source.js'

/** What a write came to. */
export interface SetResult {
  readonly key: string
  /** `false` when its condition did not hold. */
  readonly applied: boolean
  /** Version of the value now stored: the one written, or the one in the way. */
  readonly version: Hlc | undefined
}

/** What a delete came to. */
export interface DeleteResult {
  readonly key: string
  readonly deleted: boolean
  readonly version: Hlc | undefined
}

/**
 * One key of the store, with the type of its values. Costs nothing until it is used.
 *
 * @example
 * ```ts
 * const setPoint = store.key('thermostat1\\setPoint', number)
 * setPoint.value$.subscribe(render)
 * await firstValueFrom(setPoint.set(21.5))
 * ```
 */
export class Key<T> {
  readonly #source: KeySource<T>
  #entries$: Observable<Entry<T>> | undefined = undefined
  #value$: Observable<T | undefined> | undefined = undefined

  constructor(source: KeySource<T>) {
    this.#source = source
  }

  /** The key; one that is no UTF-8 text as `0x` and Base16. */
  get name(): string {
    return this.#source.key.text
  }

  /** The key as the store has it; a copy. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.#source.key.bytes)
  }

  /** Base16 of the key's bytes: tells keys apart whose names look alike. */
  get id(): string {
    return this.#source.key.id
  }

  /**
   * Every change, the latest first, then one by one with rising versions. Hot: all subscribers of the key share one
   * registration, made by the first and ended by the last. Lives on through reconnects; errors with `not-authorized`,
   * `request-rejected` or `closed` alone, completes when the client is closed.
   */
  get entries$(): Observable<Entry<T>> {
    this.#entries$ ??= new Observable(subscriber => new EntryListener(this.#source, subscriber).join())
    return this.#entries$
  }

  /** The values of {@link entries$}: `undefined` while there is no such key. Values that do not decode are left out. */
  get value$(): Observable<T | undefined> {
    this.#value$ ??= new Observable(subscriber => new ValueListener(this.#source, subscriber).join())
    return this.#value$
  }

  /** Whether the value can be relied on. Watches the key as the others do. */
  get freshness$(): Observable<Freshness> {
    return new Observable(subscriber => new FreshnessListener(this.#source, subscriber).join())
  }

  /** Values that did not decode. Watches the key as the others do. */
  get errors$(): Observable<DecodeError> {
    return this.entries$.pipe(
      filter(entry => entry.op === 'invalid'),
      map(entry => entry.error),
    )
  }

  /**
   * Reads the key once. Cold: asks on every subscription. Errors with `timeout`, `decode`, `closed` or what the store
   * answers; an absent key is an entry, not an error.
   */
  get(options: RequestOptions = {}): Observable<Entry<T>> {
    const timeout = checkTimeout(options.timeout, this.#source.host.timeout)
    return this.#source.host.store.get(this.#source.key, timeout).pipe(
      map(found => {
        const source = 'snapshot'
        if (found === undefined) return { key: this.name, op: 'absent', value: undefined, version: undefined, source }
        const { version } = found
        return { key: this.name, op: 'set', value: this.#source.value(found.value, version), version, source }
      }),
    )
  }

  /**
   * Writes the value. Cold: writes on every subscription. Throws `argument` at once for wrong options or a value the
   * codec refuses; errors with `timeout` (not written), `outcome-unknown`, `closed` or what the store answers.
   */
  set(value: T, options: SetOptions = {}): Observable<SetResult> {
    const { host } = this.#source
    const write = checkSetOptions(options, host.fencingToken)
    const timeout = checkTimeout(options.timeout, host.timeout)
    return host.store
      .set(this.#source.key, encodeFor(this.name, this.#source.codec, value), write, timeout)
      .pipe(map(({ applied, version }) => ({ key: this.name, applied, version })))
  }

  /** Deletes the key. Cold; errors as {@link set} does. */
  delete(options: DeleteOptions = {}): Observable<DeleteResult> {
    const token = checkToken(options.fencingToken) ?? this.#source.host.fencingToken
    const timeout = checkTimeout(options.timeout, this.#source.host.timeout)
    return this.#source.host.store.delete(this.#source.key, token, timeout).pipe(map(written => this.#deleted(written)))
  }

  /** Deletes the key if it holds this value. Cold; errors as {@link set} does. */
  deleteIf(value: T, options: DeleteOptions = {}): Observable<DeleteResult> {
    const token = checkToken(options.fencingToken) ?? this.#source.host.fencingToken
    const timeout = checkTimeout(options.timeout, this.#source.host.timeout)
    return this.#source.host.store
      .deleteIf(this.#source.key, encodeFor(this.name, this.#source.codec, value), token, timeout)
      .pipe(map(written => this.#deleted(written)))
  }

  #deleted({ applied, version }: { applied: boolean; version: Hlc | undefined }): DeleteResult {
    return { key: this.name, deleted: applied, version }
  }
}
