import { useMemo, useRef } from 'react'
import { ArgumentError, shown } from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import { GLOB, SOURCE } from '../keys/source.js'
import { type KeysSnapshot, UNKNOWN } from './keys-snapshot.js'
import { isMatching, type KeysSource, KeysWatch } from './keys-watch.js'
import { type Equality, same, useSelected } from './use-selected.js'

/**
 * Watches all keys that fit a glob, or some keys, for as long as the component is mounted, and renders it again whenever
 * something is different. All components share the one watch of their client. Without a source nothing is watched, and the
 * snapshot says `connecting`. What is said of keys, codecs, errors and servers at {@link useKey} is so here as well.
 *
 * @param source - what {@link matching} makes, or keys; either may be made while rendering
 * @param select - what the component uses of the snapshot: it renders again when that is different, and for nothing else
 * @param equal - what counts as not different; default `Object.is`
 * @example
 * ```tsx
 * const { values, freshness } = useKeys(matching(store, 'sensor/*', number))
 * const count = useKeys(matching(store, 'sensor/*', number), ({ values }) => values.size)
 * ```
 */
export function useKeys<T>(source: KeysSource<T> | undefined): KeysSnapshot<T>
export function useKeys<T, R>(
  source: KeysSource<T> | undefined,
  select: (snapshot: KeysSnapshot<T>) => R,
  equal?: Equality<R>,
): R
export function useKeys<T>(
  source: KeysSource<T> | undefined,
  select: (snapshot: KeysSnapshot<T>) => unknown = same,
  equal?: Equality<unknown>,
): unknown {
  const identity = useSame(partsOf(source))
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is made anew of the same parts is the same
  const watch = useMemo(() => new KeysWatch(source), [identity])
  return useSelected({ subscribe: watch.subscribe, read: watch.read, readOnServer: unknown }, select, equal)
}

/** What tells sources apart. Throws {@link ArgumentError} for what is none. */
function partsOf<T>(source: KeysSource<T> | undefined): readonly unknown[] {
  if (source === undefined) return []
  if (isMatching(source)) {
    const [registry, glob, terms, codec] = source[GLOB]
    return [registry, glob, terms, identityOf(codec)]
  }
  if (!Array.isArray(source) || !source.every(key => Object(key) === key && SOURCE in key)) {
    throw new ArgumentError(`Expected what \`matching(store, glob)\` makes, or keys, got \`${shown(source)}\``)
  }
  return source.flatMap(({ [SOURCE]: { key, host, codec } }) => [host.registry, key.id, identityOf(codec)])
}

/** The same array as long as its items are. */
function useSame(parts: readonly unknown[]): readonly unknown[] {
  const last = useRef(parts)
  const isSame = parts.length === last.current.length && parts.every((part, at) => Object.is(part, last.current[at]))
  if (!isSame) last.current = parts
  return last.current
}

const unknown = (): typeof UNKNOWN => UNKNOWN
