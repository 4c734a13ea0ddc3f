import { useEffect, useMemo } from 'react'
import type { KeyName } from '../../core/protocol/commands.js'
import { afterIo } from '../../core/util/clock.js'
import {
  ArgumentError,
  ClosedError,
  type DecodeError,
  formatValue,
  type StateStoreError,
} from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { type KeyHost, type KeySource, SOURCE } from '../keys/source.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry, RawEntry } from '../watch/watch-state.js'
import { type Equality, same, useSelected } from './use-selected.js'

/**
 * Watches a key for as long as the component is mounted, and renders it again whenever something is different. All
 * components share the one watch of their client. Without a key nothing is watched, and the snapshot says `connecting`.
 *
 * The key may be made while rendering: keys are told apart by store, name and codec, and codecs by their schema. (A codec
 * of your own, or a schema, should not be made while rendering: values would be decoded anew each time.)
 *
 * Nothing is thrown but `argument`, for anything but a key: what goes wrong is in the snapshot, beside the last entry. A
 * watch that has ended is begun anew when the component is mounted anew.
 *
 * On a server nothing is watched: it renders, and the browser hydrates, `connecting` without a value.
 *
 * @param select - what the component uses of the snapshot: it renders again when that is different, and for nothing else
 * @param equal - what counts as not different; default `Object.is`
 * @example
 * ```tsx
 * const { value, freshness, error } = useKey(store.key('thermostat1/setPoint', number))
 * const isWarm = useKey(store.key('thermostat1/temperature', number), ({ value }) => value !== undefined && value > 25)
 * ```
 */
export function useKey<T>(key: Key<T> | undefined): KeySnapshot<T>
export function useKey<T, R>(key: Key<T> | undefined, select: (snapshot: KeySnapshot<T>) => R, equal?: Equality<R>): R
export function useKey<T>(
  key: Key<T> | undefined,
  select: (snapshot: KeySnapshot<T>) => unknown = same,
  equal?: Equality<unknown>,
): unknown {
  const source = sourceOf(key)
  const id = source?.key.id
  const registry = source?.host.registry
  const codec = source && identityOf(source.codec)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a key made anew is the same key
  const watch = useMemo(() => source && new KeyWatch(source.key, source.host), [registry, id])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a codec made anew decodes to the same
  const reader = useMemo(() => new Reader(source), [watch, codec])
  const selected = useSelected(
    {
      subscribe: watch?.subscribe ?? subscribeNever,
      read: () => reader.snapshotOf(watch?.read() ?? UNWATCHED),
      readOnServer: () => reader.snapshotOf(UNWATCHED),
    },
    select,
    equal,
  )
  const { raw, entry } = reader
  // Not while rendering, for listeners may have to render something else.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for every entry, however often it is decoded
  useEffect(() => {
    const error = decodeErrorOf(entry)
    if (error) source?.host.report(error)
  }, [watch, raw])
  return selected
}

/** Decodes what is known of a key, once as long as nothing is different. */
class Reader<T> {
  raw: KeyState['raw']
  entry: Entry<T> | undefined
  readonly #source: KeySource<T> | undefined
  #state: KeyState | undefined
  #snapshot: KeySnapshot<T> | undefined

  constructor(source: KeySource<T> | undefined) {
    this.#source = source
  }

  snapshotOf(state: KeyState): KeySnapshot<T> {
    if (this.#snapshot !== undefined && state === this.#state) return this.#snapshot
    if (state.raw !== this.raw) {
      this.raw = state.raw
      this.entry = state.raw && this.#source?.decode(state.raw)
    }
    this.#state = state
    this.#snapshot = snapshotOf(this.entry, state)
    return this.#snapshot
  }
}

function sourceOf<T>(key: Key<T> | undefined): KeySource<T> | undefined {
  if (key === undefined) return undefined
  const source = Object(key) === key ? key[SOURCE] : undefined
  if (source === undefined)
    throw new ArgumentError(`Expected a key of a store, got \`${formatValue(key)}\` (${typeof key})`)
  return source
}

const subscribeNever = (): (() => void) => () => undefined

/** What a component is told of a key. Immutable; the same object until something is different. */
export interface KeySnapshot<T> {
  /** That of the entry; `undefined` before the first, when there is no such key, and when it does not decode. */
  readonly value: T | undefined
  /** The latest; `undefined` before the first one is read. */
  readonly entry: Entry<T> | undefined
  /** Whether the two can be relied on: `connecting` until the key was read. */
  readonly freshness: Freshness
  /**
   * What is wrong. A {@link DecodeError} (`decode`) goes with the next entry. With any other the watch has ended, and the
   * last entry is `stale`: `not-authorized`, `closed`, or what else {@link Key.entries$} errors with.
   */
  readonly error: StateStoreError | undefined
}

/** The state of a key, with its entry decoded. */
export function snapshotOf<T>(entry: Entry<T> | undefined, { freshness, error }: KeyState): KeySnapshot<T> {
  return { value: entry?.value, entry, freshness, error: error ?? decodeErrorOf(entry) }
}

/** Why the entry has no value, if it does not decode. */
export const decodeErrorOf = (entry: Entry<unknown> | undefined): DecodeError | undefined =>
  entry?.op === 'invalid' ? entry.error : undefined

/** What is known of a key, not decoded yet. Immutable; the same object until something is different. */
export interface KeyState {
  readonly raw: RawEntry | undefined
  readonly freshness: Freshness
  /** Why the watch has ended, if it has. */
  readonly error: StateStoreError | undefined
}

/** A key without a watch; also what a server renders. */
export const UNWATCHED: KeyState = { raw: undefined, freshness: { state: 'connecting' }, error: undefined }

/**
 * A key as an external store of React: one per component that uses it. The watch behind it is shared by all of a client.
 *
 * It is left only after the task that runs: in StrictMode, and when one component takes the place of another, a key is
 * unsubscribed and subscribed again in one go, and the store shall not hear of it.
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

  /** Watches the key. The returned function ends that, once. */
  readonly subscribe = (changed: () => void): (() => void) => {
    let isListening = true
    const tell = (raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): void => {
      // At the end there is none, and the last one stays.
      if (isListening && this.#set(raw ?? this.#state.raw, freshness, error)) changed()
    }
    const end = (error: StateStoreError): void => {
      tell(this.#state.raw, this.#state.freshness, error)
      isListening = false
    }
    const observer = {
      signal: (raw: RawEntry | undefined, freshness: Freshness): void => tell(raw, freshness, undefined),
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

  /** The state now; before this component watches the key, what others that do know of it. */
  readonly read = (): KeyState => {
    if (this.#subscribers === 0) {
      const { raw, freshness } = this.#host.registry.peek(this.#key) ?? UNWATCHED
      this.#set(raw, freshness, undefined)
    }
    return this.#state
  }

  #set(raw: RawEntry | undefined, freshness: Freshness, error: StateStoreError | undefined): boolean {
    const { raw: before, freshness: then, error: ended } = this.#state
    if (raw === before && error === ended && isSame(freshness, then)) return false
    this.#state = raw || freshness.state !== 'connecting' || error ? { raw, freshness, error } : UNWATCHED
    return true
  }
}

const isSame = (one: Freshness, other: Freshness): boolean =>
  one.state === other.state && (one.state !== 'stale' || other.state !== 'stale' || one.since === other.since)
