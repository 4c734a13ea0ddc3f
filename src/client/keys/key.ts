import { filter, map, Observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { StoreRequest } from '../../core/util/awaitable.js'
import { checkOptionNames } from '../../core/util/check.js'
import type { DecodeError } from '../../core/util/errors.js'
import type { Written } from '../requests/commands.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry } from '../watch/watch-state.js'
import { encodeFor } from './codec.js'
import { Latest } from './latest.js'
import {
  type AbortOptions,
  abortable,
  checkSetOptions,
  checkSignal,
  checkTimeout,
  checkToken,
  DELETE_NAMES,
  type DeleteOptions,
  ELSEWHERE,
  GET_NAMES,
  LOOP_NAMES,
  type RequestOptions,
  SET_NAMES,
  type SetOptions,
} from './options.js'
import { EntryListener, FreshnessListener, type KeyHost, type KeySource, SOURCE, ValueListener } from './source.js'

// Operators are given up by unsubscribing; a request of its own by a signal, too.
const GET_REQUEST = { ...GET_NAMES, ...LOOP_NAMES }
const SET_REQUEST = { ...SET_NAMES, ...LOOP_NAMES }
const DELETE_REQUEST = { ...DELETE_NAMES, ...LOOP_NAMES }

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
 * const setPoint = store.key('thermostat1/setPoint', number)
 * setPoint.value$.subscribe(render)
 * await setPoint.set(21.5)
 * ```
 */
export class Key<T> implements AsyncIterable<Entry<T>> {
  readonly [SOURCE]: KeySource<T>
  #entries$: Observable<Entry<T>> | undefined = undefined
  #value$: Observable<T | undefined> | undefined = undefined
  #freshness$: Observable<Freshness> | undefined = undefined
  #errors$: Observable<DecodeError> | undefined = undefined

  constructor(source: KeySource<T>) {
    this[SOURCE] = source
  }

  /** The key; as `0x` and Base16 unless it is UTF-8 text. */
  get name(): string {
    return this[SOURCE].key.text
  }

  /** The key as the store has it; a copy. */
  get bytes(): Uint8Array {
    return new Uint8Array(this[SOURCE].key.bytes)
  }

  /** Base16 of the key's bytes: tells keys apart whose names look alike. */
  get id(): string {
    return this[SOURCE].key.id
  }

  /**
   * Every change, the latest first, then one by one with rising versions. Hot: all subscribers of the key share one
   * registration, made by the first and ended by the last. Lives on through reconnects; errors with `not-authorized`,
   * `request-rejected` or `closed` alone, completes when the client is closed.
   */
  get entries$(): Observable<Entry<T>> {
    this.#entries$ ??= new Observable(subscriber => new EntryListener(this[SOURCE], subscriber).join())
    return this.#entries$
  }

  /** The values of {@link entries$}: `undefined` while there is no such key. Values that do not decode are left out. */
  get value$(): Observable<T | undefined> {
    this.#value$ ??= new Observable(subscriber => new ValueListener(this[SOURCE], subscriber).join())
    return this.#value$
  }

  /**
   * Whether the value can be relied on, at once and then whenever that changes. Watches the key as the others do; ends as
   * they do, with `stale` if there is a value.
   */
  get freshness$(): Observable<Freshness> {
    this.#freshness$ ??= new Observable(subscriber => new FreshnessListener(this[SOURCE], subscriber).join())
    return this.#freshness$
  }

  /** Values that did not decode. Watches the key as the others do. */
  get errors$(): Observable<DecodeError> {
    this.#errors$ ??= this.entries$.pipe(
      filter(entry => entry.op === 'invalid'),
      map(entry => entry.error),
    )
    return this.#errors$
  }

  /**
   * The entries as an async iterable, for those who avoid Rx. A loop that is slower than the changes gets the latest
   * entry when it asks for the next: what came meanwhile is merged into that one, so versions rise and nothing piles up.
   * The watch begins with the loop and ends with it, however it is left. The loop ends when the client is closed, and
   * throws what {@link entries$} errors with, or `aborted`.
   *
   * @example
   * ```ts
   * for await (const entry of key.entries({ signal })) await show(entry.value)
   * ```
   */
  entries(options: AbortOptions = {}): AsyncIterator<Entry<T>, undefined> & AsyncIterable<Entry<T>> {
    checkOptionNames('entries', options, LOOP_NAMES)
    return new Latest(abortable(this.entries$, checkSignal(options.signal)))
  }

  /** The same as {@link entries}: `for await (const entry of key)`. */
  [Symbol.asyncIterator](): AsyncIterator<Entry<T>, undefined> {
    return this.entries()
  }

  /**
   * Reads the key once; to be subscribed or awaited, see {@link StoreRequest}. Errors with `argument` for wrong options,
   * `timeout`, `decode`, `aborted`, `no-store`, `closed` or what the store answers; an absent key is an entry, not an error.
   */
  get(options: RequestOptions & AbortOptions = {}): StoreRequest<Entry<T>> {
    return new StoreRequest(() => {
      checkOptionNames('get', options, GET_REQUEST)
      const { host, key } = this[SOURCE]
      const signal = checkSignal(options.signal)
      return abortable(host.store.get(key, checkTimeout(options.timeout, host.timeout)), signal).pipe(
        map(found => {
          const source = 'snapshot'
          const name = this.name
          if (found === undefined)
            return { key: name, op: 'absent', value: undefined, version: undefined, source, reason: 'unknown' }
          const { version } = found
          return { key: name, op: 'set', value: this[SOURCE].value(found.value, version), version, source }
        }),
      )
    })
  }

  /**
   * Writes the value; to be subscribed or awaited, see {@link StoreRequest}. Errors with `argument` for wrong options or a
   * value the codec refuses, `timeout` and `no-store` (not written), `outcome-unknown`, `aborted` (written or not, once it
   * was sent), `closed` or what the store answers.
   */
  set(value: T, options: SetOptions & AbortOptions = {}): StoreRequest<SetResult> {
    return new StoreRequest(() => {
      checkOptionNames('set', options, SET_REQUEST, ELSEWHERE)
      const { host, key, codec } = this[SOURCE]
      const write = checkSetOptions(options, host.fencingToken)
      const timeout = checkTimeout(options.timeout, host.timeout)
      const signal = checkSignal(options.signal)
      return abortable(host.store.set(key, encodeFor(this.name, codec, value), write, timeout), signal).pipe(
        map(({ applied, version }) => ({ key: this.name, applied, version })),
      )
    })
  }

  /** Deletes the key; errors as {@link set} does. */
  delete(options: DeleteOptions & AbortOptions = {}): StoreRequest<DeleteResult> {
    return this.#deletion('delete', options, ({ store }, key, token, timeout) => store.delete(key, token, timeout))
  }

  /** Deletes the key if it holds this value; errors as {@link set} does. */
  deleteIf(value: T, options: DeleteOptions & AbortOptions = {}): StoreRequest<DeleteResult> {
    const { codec } = this[SOURCE]
    return this.#deletion('deleteIf', options, ({ store }, key, token, timeout) =>
      store.deleteIf(key, encodeFor(this.name, codec, value), token, timeout),
    )
  }

  #deletion(
    call: string,
    options: DeleteOptions & AbortOptions,
    written: (host: KeyHost, key: KeyName, token: Hlc | undefined, timeout: number) => Observable<Written>,
  ): StoreRequest<DeleteResult> {
    return new StoreRequest(() => {
      checkOptionNames(call, options, DELETE_REQUEST, ELSEWHERE)
      const { host, key } = this[SOURCE]
      const token = checkToken(options.fencingToken) ?? host.fencingToken
      const timeout = checkTimeout(options.timeout, host.timeout)
      const signal = checkSignal(options.signal)
      return abortable(written(host, key, token, timeout), signal).pipe(
        map(({ applied, version }) => ({ key: this.name, deleted: applied, version })),
      )
    })
  }
}
