import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { ArgumentError, shown } from '../base/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { type KeySource, SOURCE } from '../keys/source.js'
import { decodeErrorOf, type KeySnapshot, snapshotOf } from './key-snapshot.js'
import { KeyWatch, UNWATCHED } from './key-watch.js'

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
 * @example
 * ```tsx
 * const { value, freshness, error } = useKey(store.key('thermostat1\\setPoint', number))
 * ```
 */
export function useKey<T>(key: Key<T> | undefined): KeySnapshot<T> {
  const source = sourceOf(key)
  const id = source?.key.id
  const registry = source?.host.registry
  const codec = source && identityOf(source.codec)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a key made anew is the same key
  const watch = useMemo(() => source && new KeyWatch(source.key, source.host), [registry, id])
  const state = useSyncExternalStore(watch?.subscribe ?? subscribeNever, watch?.read ?? unwatched, unwatched)
  const { raw } = state
  // biome-ignore lint/correctness/useExhaustiveDependencies: a codec made anew decodes to the same
  const entry = useMemo(() => source && raw && source.decode(raw), [watch, raw, codec])
  const snapshot = useMemo(() => snapshotOf(entry, state), [entry, state])
  // Not while rendering, for listeners may have to render something else.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for every entry, however often it is decoded
  useEffect(() => {
    const error = decodeErrorOf(entry)
    if (error) source?.host.report(error)
  }, [watch, raw])
  return snapshot
}

function sourceOf<T>(key: Key<T> | undefined): KeySource<T> | undefined {
  if (key === undefined) return undefined
  const source = Object(key) === key ? key[SOURCE] : undefined
  if (source === undefined) throw new ArgumentError(`Expected a key of a store, got \`${shown(key)}\` (${typeof key})`)
  return source
}

const unwatched = (): typeof UNWATCHED => UNWATCHED

const subscribeNever = (): (() => void) => () => undefined
