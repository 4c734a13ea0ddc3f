import { useMemo } from 'react'
import type { KeyName } from '../../core/protocol/commands.js'
import { checkArgument } from '../../core/util/check.js'
import { afterIo } from '../../core/util/clock.js'
import { ClosedError, type DecodeError, type StateStoreError } from '../../core/util/errors.js'
import type { KeyHost } from '../keys/host.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { type KeySource, SOURCE } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import { BOTH, type WatchObserver } from '../watch/watch.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import { type Equality, selectAll, useSelected } from './use-selected.js'

/**
 * Watches a key while the component is mounted, and renders the component again after every change. All components share
 * one watch per client. Without a key nothing is watched, and the snapshot is `connecting`.
 *
 * The key may be created while rendering: keys are equal if their store, name and codec are equal, and `json` codecs
 * are equal if their schemas are. Create a custom codec or a schema outside of the component; otherwise values are
 * decoded again on every render.
 *
 * Throws `argument` for anything but a key. All other errors are in the snapshot, next to the last entry. A watch that has
 * ended is restarted when the component is mounted again.
 *
 * On a server nothing is watched: the server renders `connecting` without a value, and the browser hydrates that.
 *
 * @param select - returns the part of the snapshot that the component uses; it renders only when that part changes
 * @param equal - compares two parts; default `Object.is`
 * @example
 * ```tsx
 * const { value, freshness, error } = useKey(
 *   store.key('thermostat1/setPoint', number),
 * )
 * const isWarm = useKey(
 *   store.key('thermostat1/temperature', number),
 *   ({ value }) => value !== undefined && value > 25,
 * )
 * ```
 */
export function useKey<T>(key: Key<T> | undefined): KeySnapshot<T>
export function useKey<T, R>(key: Key<T> | undefined, select: (snapshot: KeySnapshot<T>) => R, equal?: Equality<R>): R
export function useKey<T>(
  key: Key<T> | undefined,
  select: (snapshot: KeySnapshot<T>) => unknown = selectAll,
  equal?: Equality<unknown>,
): unknown {
  const source = sourceOf(key)
  const id = source?.key.id
  const registry = source?.host.registry
  const codec = source && identityOf(source.codec)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a key with the same registry and id is the same key
  const watch = useMemo(() => source && new KeyWatch(source.key, source.host), [registry, id])
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal codecs decode to equal values
  const reader = useMemo(() => new EntryReader(source), [watch, codec])
  return useSelected(
    {
      subscribe: watch?.subscribe ?? subscribeNever,
      read: () => reader.snapshotOf(watch?.read() ?? UNWATCHED),
      readOnServer: () => reader.snapshotOf(UNWATCHED),
    },
    select,
    equal,
  )
}

export class EntryReader<T> {
  #raw: KeyState['raw']
  #entry: Entry<T> | undefined
  readonly #source: KeySource<T> | undefined
  #state: KeyState | undefined
  #snapshot: KeySnapshot<T> | undefined

  constructor(source: KeySource<T> | undefined) {
    this.#source = source
  }

  snapshotOf(state: KeyState): KeySnapshot<T> {
    if (this.#snapshot !== undefined && state === this.#state) return this.#snapshot
    if (state.raw !== this.#raw) {
      this.#raw = state.raw
      this.#entry = state.raw && this.#source && decodeAndReport(this.#source, state.raw)
    }
    this.#state = state
    this.#snapshot = snapshotOf(this.#entry, state)
    return this.#snapshot
  }
}

/** Maximum number of different errors that are reported of an entry. Each codec may have another one. */
const MAX_REPORTED_ERRORS = 8

/** The messages of the errors that were reported of each entry. */
const reportedErrors = /* @__PURE__ */ new WeakMap<RawEntry, Set<string>>()

/**
 * Decodes an entry and reports an error, once per entry although components decode it several times. Reports after the
 * current task, because listeners may set the state of other components, and not in an effect, because a component that
 * throws the error to an error boundary has no effects.
 */
function decodeAndReport<T>(source: KeySource<T>, raw: RawEntry): Entry<T> {
  const entry = source.decode(raw)
  const error = decodeErrorOf(entry)
  const reported = reportedErrors.get(raw) ?? new Set()
  if (error && reported.size < MAX_REPORTED_ERRORS && !reported.has(error.message)) {
    reportedErrors.set(raw, reported.add(error.message))
    afterIo(() => source.host.report(error))
  }
  return entry
}

function sourceOf<T>(key: Key<T> | undefined): KeySource<T> | undefined {
  if (key === undefined) return undefined
  const source = Object(key) === key ? key[SOURCE] : undefined
  checkArgument(source !== undefined, 'a key of a store', key)
  return source
}

const subscribeNever = (): (() => void) => () => undefined

/** A key's state. Immutable, and the same object until something changes. */
export interface KeySnapshot<T> {
  /** The entry's value; `undefined` before the first read, for an absent key, and if the value does not decode. */
  readonly value: T | undefined
  /** The latest entry; `undefined` before the first read. */
  readonly entry: Entry<T> | undefined
  /** Whether value and entry are current; `connecting` before the first read. */
  readonly freshness: Freshness
  /**
   * The current error. A {@link DecodeError} (`decode`) is replaced by the next entry. Any other error has ended the watch,
   * and the last entry is `stale`: `not-authorized`, `closed`, or another error of {@link Key.entries$}.
   */
  readonly error: StateStoreError | undefined
}

export function snapshotOf<T>(entry: Entry<T> | undefined, { freshness, error }: KeyState): KeySnapshot<T> {
  return { value: entry?.value, entry, freshness, error: error ?? decodeErrorOf(entry) }
}

export const decodeErrorOf = (entry: Entry<unknown> | undefined): DecodeError | undefined =>
  entry?.op === 'invalid' ? entry.error : undefined

/** A key's state before decoding. Immutable, and the same object until something changes. */
export interface KeyState {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
  /** Why the watch has ended. */
  readonly error: StateStoreError | undefined
}

export const UNWATCHED: KeyState = { raw: undefined, freshness: { state: 'connecting' }, error: undefined }

/**
 * A key as an external store of React, one per component. The watch is shared by all components of a client.
 *
 * Leaves the watch only after the current task. StrictMode, and the replacement of one component by another,
 * unsubscribe and subscribe a key within one task, which should not send requests.
 */
export class KeyWatch {
  readonly #key: KeyName
  readonly #host: KeyHost
  #state = UNWATCHED
  #subscribers = 0

  constructor(key: KeyName, host: KeyHost) {
    this.#key = key
    this.#host = host
  }

  /** Subscribes to changes. Returns a function that unsubscribes, to be called once. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    let isListening = true
    const update = (raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): void => {
      // The last signal has no entry, so the previous entry stays.
      if (isListening && this.#set(raw ?? this.#state.raw, freshness, error)) onChange()
    }
    const end = (error: StateStoreError): void => {
      update(this.#state.raw, this.#state.freshness, error)
      isListening = false
    }
    const observer: WatchObserver = {
      emits: BOTH,
      signal: (entries: readonly RawEntry[], freshness: Freshness): void =>
        update(entries.at(-1), freshness, undefined),
      error: end,
      complete: () => end(new ClosedError()),
    }
    const { registry } = this.#host
    this.#subscribers++
    registry.join(this.#key, observer)
    return () => {
      isListening = false
      this.#subscribers--
      afterIo(() => registry.leave(this.#key, observer))
    }
  }

  /** Returns the state. Before this component subscribes, this is the state of other components' watch. */
  readonly read = (): KeyState => {
    if (this.#subscribers === 0) {
      const { raw, freshness } = this.#host.registry.peek(this.#key) ?? UNWATCHED
      this.#set(raw, freshness, undefined)
    }
    return this.#state
  }

  #set(raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): boolean {
    const { raw: previousRaw, freshness: previousFreshness, error: previousError } = this.#state
    if (raw === previousRaw && error === previousError && isSameFreshness(freshness, previousFreshness)) return false
    this.#state = raw || freshness.state !== 'connecting' || error ? { raw, freshness, error } : UNWATCHED
    return true
  }
}

export const isSameFreshness = (one: Freshness, other: Freshness): boolean =>
  one.state === other.state && (one.state !== 'stale' || other.state !== 'stale' || one.since === other.since)
