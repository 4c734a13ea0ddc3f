import { useMemo, useRef } from 'react'
import { combineLatest, map, merge, NEVER, Observable, startWith } from 'rxjs'
import { afterIo } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { GLOB, SOURCE } from '../keys/source.js'
import type { Matching } from '../matching/index.js'
import type { Freshness } from '../watch/freshness.js'
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
    throw new ArgumentError(`Expected what \`matching(store, glob)\` makes, or keys, got \`${formatValue(source)}\``)
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

/** What a component is told of several keys. Immutable; the same object until something is different. */
export interface KeysSnapshot<T> {
  /** Values by the names of their keys: of those that there are, and whose value decodes. */
  readonly values: ReadonlyMap<string, T>
  /** Whether they can be relied on; of several keys that of the one that can least. */
  readonly freshness: Freshness
  /** Why the watch has ended, if it has: `closed`, or what else {@link Matching.entries$} or {@link Key.entries$} errors with. */
  readonly error: StateStoreError | undefined
}

const NONE = new Map<string, never>()

/** What is known before anything is; also what a server renders. */
export const UNKNOWN: KeysSnapshot<never> = { values: NONE, freshness: { state: 'connecting' }, error: undefined }

/** Several keys: those that fit a glob, or these. */
export type KeysSource<T> = Matching<T> | readonly Key<T>[]

/** Whether a source is all keys that fit a glob. */
export const isMatching = <T>(source: KeysSource<T>): source is Matching<T> =>
  Object(source) === source && GLOB in source

/** Several keys as an external store of React: one per component that uses them. */
export class KeysWatch<T> {
  readonly #source: KeysSource<T> | undefined
  #snapshot: KeysSnapshot<T> = UNKNOWN

  constructor(source: KeysSource<T> | undefined) {
    this.#source = source
  }

  /** Watches the keys. The returned function ends that, once the task that runs is over; see {@link KeyWatch}. */
  readonly subscribe = (changed: () => void): (() => void) => {
    if (this.#source === undefined) return () => undefined
    let isListening = true
    const tell = (change: Partial<KeysSnapshot<T>>): void => {
      if (!isListening) return
      this.#snapshot = { ...this.#snapshot, ...change }
      changed()
    }
    const values = valuesOf(this.#source).subscribe({ next: now => tell({ values: now }), error: () => undefined })
    const freshness = freshnessOf(this.#source).subscribe({
      next: now => tell({ freshness: now, error: undefined }),
      error: error => tell({ error }),
      complete: () => tell({ error: new ClosedError() }),
    })
    return () => {
      isListening = false
      afterIo(() => {
        values.unsubscribe()
        freshness.unsubscribe()
      })
    }
  }

  readonly read = (): KeysSnapshot<T> => this.#snapshot
}

const valuesOf = <T>(source: KeysSource<T>): Observable<ReadonlyMap<string, T>> =>
  isMatching(source) ? source.map$ : gathered(source)

/** The values of some keys, as a map that never changes; the changes of one turn of the event loop make one. */
const gathered = <T>(keys: readonly Key<T>[]): Observable<ReadonlyMap<string, T>> =>
  new Observable(subscriber => {
    const values = new Map<string, T>()
    const clock = keys[0]?.[SOURCE].host.registry.clock
    let cancel: (() => void) | undefined
    subscriber.add(() => cancel?.())
    subscriber.add(
      merge(...keys.map(key => key.entries$)).subscribe({
        next: entry => {
          if (entry.op === 'set') values.set(entry.key, entry.value)
          else if (!values.delete(entry.key)) return
          cancel ??= clock?.schedule(0, () => {
            cancel = undefined
            subscriber.next(new Map(values))
          })
        },
        error: error => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    )
  })

function freshnessOf<T>(source: KeysSource<T>): Observable<Freshness> {
  if (isMatching(source)) return source.freshness$
  // Of no keys all are current, and no end of a watch is to be waited for.
  if (source.length === 0) return NEVER.pipe(startWith<Freshness>({ state: 'live' }))
  return combineLatest(source.map(key => key.freshness$)).pipe(map(leastOf))
}

const ORDER: readonly Freshness['state'][] = ['connecting', 'stale', 'resyncing', 'live']

const leastOf = (all: readonly Freshness[]): Freshness =>
  all.reduce((least, one) => (ORDER.indexOf(one.state) < ORDER.indexOf(least.state) ? one : least), { state: 'live' })
