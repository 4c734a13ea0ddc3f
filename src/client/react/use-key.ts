import { useEffect, useMemo } from 'react'
import { ArgumentError, shown } from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { type KeySource, SOURCE } from '../keys/source.js'
import type { Entry } from '../watch/entry.js'
import { decodeErrorOf, type KeySnapshot, snapshotOf } from './key-snapshot.js'
import { type KeyState, KeyWatch, UNWATCHED } from './key-watch.js'
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
  if (source === undefined) throw new ArgumentError(`Expected a key of a store, got \`${shown(key)}\` (${typeof key})`)
  return source
}

const subscribeNever = (): (() => void) => () => undefined
