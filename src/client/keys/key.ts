import { filter, type InteropObservable, map, Observable, observable } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { StoreRequest } from '../../core/util/awaitable.js'
import { checkOptionNames } from '../../core/util/check.js'
import { ArgumentError, type DecodeError } from '../../core/util/errors.js'
import type { WriteResult } from '../requests/commands.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry } from '../watch/watch-state.js'
import { encodeFor } from './codec.js'
import type { KeyHost } from './host.js'
import { LatestIterator } from './latest.js'
import {
  ABORT_NAMES,
  type AbortOptions,
  ALIASES,
  abortable,
  checkSetOptions,
  checkSignal,
  checkTimeout,
  checkToken,
  DELETE_NAMES,
  type DeleteOptions,
  GET_NAMES,
  type RequestOptions,
  SET_NAMES,
  type SetOptions,
} from './options.js'
import { EntryListener, FreshnessListener, type KeySource, SOURCE, ValueListener } from './source.js'

// Only requests have a `signal`. Operators are cancelled by unsubscribing.
const GET_REQUEST = { ...GET_NAMES, ...ABORT_NAMES }
const SET_REQUEST = { ...SET_NAMES, ...ABORT_NAMES }
const DELETE_REQUEST = { ...DELETE_NAMES, ...ABORT_NAMES }

/**
 * Returns what an object holds for its method. Throws {@link ArgumentError} if the method was taken off its object, as in
 * `const { set } = key` or `map(store.key)`.
 *
 * @param call - the call as it must be written, such as `key.set`
 */
export function heldBy<O, S extends keyof O>(owner: O | undefined, part: S, call: string): O[S] {
  const held = owner?.[part]
  if (held !== undefined) return held
  throw new ArgumentError(`\`${call}\` was called without its object: write \`(...args) => ${call}(...args)\``)
}

/** A write's result. */
export interface SetResult {
  readonly key: string
  /** `false` if the condition of the write did not hold. */
  readonly applied: boolean
  /** Version of the stored value, which is the written value or the one that made the condition fail. */
  readonly version: Hlc | undefined
}

/** The result of a delete. */
export interface DeleteResult {
  readonly key: string
  readonly deleted: boolean
  readonly version: Hlc | undefined
}

/**
 * A typed handle of one key. Sends nothing until it is used. Made by {@link StoreView.key}.
 *
 * @example
 * ```ts
 * const setPoint = store.key('thermostat1/setPoint', number)
 * setPoint.value$.subscribe(render)
 * await setPoint.set(21.5)
 * ```
 */
export class Key<T> implements AsyncIterable<Entry<T>>, InteropObservable<Entry<T>> {
  declare readonly [Symbol.observable]: () => Observable<Entry<T>>
  readonly [SOURCE]: KeySource<T>
  #entries$: Observable<Entry<T>> | undefined = undefined
  #value$: Observable<T | undefined> | undefined = undefined
  #freshness$: Observable<Freshness> | undefined = undefined
  #errors$: Observable<DecodeError> | undefined = undefined

  constructor(source: KeySource<T>) {
    this[SOURCE] = source
  }

  /** The key as text, or as `0x` and hex if it is not UTF-8. */
  get name(): string {
    return this[SOURCE].key.text
  }

  /** A copy of the key's bytes. */
  get bytes(): Uint8Array {
    return new Uint8Array(this[SOURCE].key.bytes)
  }

  /** The key's bytes in hex: unique, unlike {@link name}. */
  get id(): string {
    return this[SOURCE].key.id
  }

  /**
   * Emits the latest entry, then every change with rising versions. Hot: all subscribers of the key share one
   * registration, which ends with the last subscriber. Continues after reconnects. Errors only with `not-authorized`,
   * `request-rejected`, `closed`, or `argument` for a key of more than 30,000 bytes; completes when the client is
   * closed.
   */
  get entries$(): Observable<Entry<T>> {
    this.#entries$ ??= new Observable(subscriber => new EntryListener(this[SOURCE], subscriber).join())
    return this.#entries$
  }

  /** Emits the values of {@link entries$}, `undefined` while the key is absent. Skips values that do not decode. */
  get value$(): Observable<T | undefined> {
    this.#value$ ??= new Observable(subscriber => new ValueListener(this[SOURCE], subscriber).join())
    return this.#value$
  }

  /**
   * Emits whether the value is current, on subscription and after every change. Watches the key, and ends like
   * {@link entries$}, with `stale` as its last value if the key was read.
   */
  get freshness$(): Observable<Freshness> {
    this.#freshness$ ??= new Observable(subscriber => new FreshnessListener(this[SOURCE], subscriber).join())
    return this.#freshness$
  }

  /** Emits the errors of values that do not decode. Watches the key. */
  get errors$(): Observable<DecodeError> {
    this.#errors$ ??= this.entries$.pipe(
      filter(entry => entry.op === 'invalid'),
      map(entry => entry.error),
    )
    return this.#errors$
  }

  /**
   * Returns the entries as an async iterable, for code without RxJS. A loop that is slower than the changes skips to
   * the latest entry, so versions rise and nothing is queued. The watch starts and ends with the loop. The loop ends
   * when the client is closed, and throws the errors of {@link entries$}, or `aborted`.
   *
   * @example
   * ```ts
   * for await (const entry of key.entries({ signal }))
   *   await show(entry.value)
   * ```
   */
  entries(options: AbortOptions = {}): AsyncIterator<Entry<T>, undefined> & AsyncIterable<Entry<T>> {
    checkOptionNames('entries', options, ABORT_NAMES)
    heldBy(this, SOURCE, 'key.entries')
    return new LatestIterator(abortable(this.entries$, checkSignal(options.signal)))
  }

  /** Returns {@link entries} without options, for `for await (const entry of key)`. */
  [Symbol.asyncIterator](): AsyncIterator<Entry<T>, undefined> {
    return this.entries()
  }

  /** Returns {@link entries$}, so that a key can be used where RxJS takes an observable, as in `from(key)`. */
  [observable](): Observable<Entry<T>> {
    return this.entries$
  }

  /**
   * Reads the key once. Subscribe to the result or await it; see {@link StoreRequest}. Errors with `argument` for wrong
   * options, `timeout`, `decode`, `aborted`, `no-store`, `closed`, or an error of the store. An absent key is an entry,
   * not an error.
   */
  get(options: RequestOptions & AbortOptions = {}): StoreRequest<Entry<T>> {
    const { host, key } = heldBy(this, SOURCE, 'key.get')
    return new StoreRequest(() => {
      checkOptionNames('get', options, GET_REQUEST)
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
   * Writes the value, at once. The result can be awaited or subscribed to; see {@link StoreRequest}. Errors with `argument` for wrong
   * options or a value that cannot be encoded, `timeout` or `no-store` (not written), `outcome-unknown` or `aborted`
   * (possibly written, if the request was sent), `closed`, or an error of the store.
   */
  set(value: T, options: SetOptions & AbortOptions = {}): StoreRequest<SetResult> {
    const { host, key, codec } = heldBy(this, SOURCE, 'key.set')
    return new StoreRequest(() => {
      checkOptionNames('set', options, SET_REQUEST, ALIASES)
      const write = checkSetOptions(options, host.fencingToken)
      const timeout = checkTimeout(options.timeout, host.timeout)
      const signal = checkSignal(options.signal)
      return abortable(host.store.set(key, encodeFor(this.name, codec, value), write, timeout), signal).pipe(
        map(({ applied, version }) => ({ key: this.name, applied, version })),
      )
    }, host.reportWrite)
  }

  /**
   * Writes the value, and reports a failure on {@link StateStore.errors$}. With this method a key is an observer of
   * values.
   *
   * @example
   * ```ts
   * fromEvent(slider, 'input')
   *   .pipe(map(() => slider.valueAsNumber))
   *   .subscribe(setPoint)
   * ```
   */
  next(value: T): void {
    heldBy(this, SOURCE, 'key.next')
    void this.set(value)
  }

  /** Deletes the key. Errors as {@link set} does. */
  delete(options: DeleteOptions & AbortOptions = {}): StoreRequest<DeleteResult> {
    heldBy(this, SOURCE, 'key.delete')
    return this.#deletion('delete', options, ({ store }, key, token, timeout) => store.delete(key, token, timeout))
  }

  /** Deletes the key if it has this value. Errors as {@link set} does. */
  deleteIf(value: T, options: DeleteOptions & AbortOptions = {}): StoreRequest<DeleteResult> {
    const { codec } = heldBy(this, SOURCE, 'key.deleteIf')
    return this.#deletion('deleteIf', options, ({ store }, key, token, timeout) =>
      store.deleteIf(key, encodeFor(this.name, codec, value), token, timeout),
    )
  }

  #deletion(
    call: string,
    options: DeleteOptions & AbortOptions,
    send: (host: KeyHost, key: KeyName, token: Hlc | undefined, timeout: number) => Observable<WriteResult>,
  ): StoreRequest<DeleteResult> {
    return new StoreRequest(() => {
      checkOptionNames(call, options, DELETE_REQUEST, ALIASES)
      const { host, key } = this[SOURCE]
      const token = checkToken(options.fencingToken) ?? host.fencingToken
      const timeout = checkTimeout(options.timeout, host.timeout)
      const signal = checkSignal(options.signal)
      return abortable(send(host, key, token, timeout), signal).pipe(
        map(({ applied, version }) => ({ key: this.name, deleted: applied, version })),
      )
    }, this[SOURCE].host.reportWrite)
  }
}
