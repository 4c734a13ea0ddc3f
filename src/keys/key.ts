import { filter, map, Observable, type Subscriber } from 'rxjs'
import { toHex } from '../bytes.js'
import type { DecodeError, StateStoreError } from '../errors.js'
import type { Hlc } from '../hlc/hlc.js'
import type { KeyName, Store } from '../store.js'
import { type Codec, encodeFor } from './codec.js'
import { type Entry, EntryDecoder } from './entry.js'
import type { Freshness } from './freshness.js'
import { type Emit, EntryListener, FreshnessListener } from './listeners.js'
import {
  checkSetOptions,
  checkTimeout,
  checkToken,
  type DeleteOptions,
  type RequestOptions,
  type SetOptions,
} from './options.js'
import type { Registry } from './registry.js'

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

/** What a key needs of its client. */
export interface KeyHost {
  readonly store: Store
  readonly registry: Registry
  /** Default of a request, ms. */
  readonly timeout: number
  readonly report: (error: StateStoreError) => void
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
  /** The key; one that is no UTF-8 text as `0x` and Base16. */
  readonly name: string
  /** Base16 of the key's bytes: tells keys apart whose names look alike. */
  readonly id: string
  readonly #key: KeyName
  readonly #codec: Codec<T>
  readonly #decoder: EntryDecoder<T>
  readonly #host: KeyHost
  #entries$: Observable<Entry<T>> | undefined = undefined
  #value$: Observable<T | undefined> | undefined = undefined

  constructor(key: KeyName, codec: Codec<T>, host: KeyHost) {
    this.name = key.text
    this.id = toHex(key.bytes)
    this.#key = key
    this.#codec = codec
    this.#decoder = new EntryDecoder(key.text, codec, host.report)
    this.#host = host
  }

  /**
   * Every change, the latest first, then one by one with rising versions. Hot: all subscribers of the key share one
   * registration, made by the first and ended by the last. Lives on through reconnects; errors with `not-authorized`,
   * `request-rejected` or `closed` alone, completes when the client is closed.
   */
  get entries$(): Observable<Entry<T>> {
    this.#entries$ ??= this.#watch(emitEntry)
    return this.#entries$
  }

  /** The values of {@link entries$}: `undefined` while there is no such key. Values that do not decode are left out. */
  get value$(): Observable<T | undefined> {
    this.#value$ ??= this.#watch(emitValue)
    return this.#value$
  }

  /** Whether the value can be relied on. Watches the key as the others do. */
  get freshness$(): Observable<Freshness> {
    const { registry } = this.#host
    return new Observable(subscriber => {
      const listener = new FreshnessListener(registry, this.id, subscriber)
      subscriber.add(listener)
      registry.join(this.#key, this.id, listener)
    })
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
    const timeout = checkTimeout(options.timeout, this.#host.timeout)
    return this.#host.store.get(this.#key, timeout).pipe(
      map(found => {
        const base = { key: this.name, version: found?.version, source: 'snapshot' } as const
        if (found === undefined) return { ...base, op: 'absent', value: undefined }
        return { ...base, op: 'set', value: this.#decoder.value(found.value, found.version) }
      }),
    )
  }

  /**
   * Writes the value. Cold: writes on every subscription. Throws `argument` at once for wrong options or a value the
   * codec refuses; errors with `timeout` (not written), `outcome-unknown`, `closed` or what the store answers.
   */
  set(value: T, options: SetOptions = {}): Observable<SetResult> {
    const write = checkSetOptions(options)
    const timeout = checkTimeout(options.timeout, this.#host.timeout)
    return this.#host.store
      .set(this.#key, encodeFor(this.name, this.#codec, value), write, timeout)
      .pipe(map(({ applied, version }) => ({ key: this.name, applied, version })))
  }

  /** Deletes the key. Cold; errors as {@link set} does. */
  delete(options: DeleteOptions = {}): Observable<DeleteResult> {
    const token = checkToken(options.fencingToken)
    const timeout = checkTimeout(options.timeout, this.#host.timeout)
    return this.#host.store.delete(this.#key, token, timeout).pipe(map(written => this.#deleted(written)))
  }

  /** Deletes the key if it holds this value. Cold; errors as {@link set} does. */
  deleteIf(value: T, options: DeleteOptions = {}): Observable<DeleteResult> {
    const token = checkToken(options.fencingToken)
    const timeout = checkTimeout(options.timeout, this.#host.timeout)
    return this.#host.store
      .deleteIf(this.#key, encodeFor(this.name, this.#codec, value), token, timeout)
      .pipe(map(written => this.#deleted(written)))
  }

  #deleted({ applied, version }: { applied: boolean; version: Hlc | undefined }): DeleteResult {
    return { key: this.name, deleted: applied, version }
  }

  #watch<R>(emit: Emit<T, R>): Observable<R> {
    const { registry } = this.#host
    return new Observable<R>(subscriber => {
      const listener = new EntryListener(registry, this.id, subscriber, this.#decoder, emit)
      subscriber.add(listener)
      registry.join(this.#key, this.id, listener)
    })
  }
}

const emitEntry = <T>(entry: Entry<T>, subscriber: Subscriber<Entry<T>>): void => subscriber.next(entry)

const emitValue = <T>(entry: Entry<T>, subscriber: Subscriber<T | undefined>): void => {
  if (entry.op !== 'invalid') subscriber.next(entry.value)
}
