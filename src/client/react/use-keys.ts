import { useMemo, useRef } from 'react'
import { defer, distinctUntilChanged, filter, map, merge, NEVER, Observable, pairwise, startWith, tap } from 'rxjs'
import { checkArgument } from '../../core/util/check.js'
import { afterIo } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, type StateStoreError } from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { copyDelayMs, uniqueName } from '../keys/map-name.js'
import { GLOB, SOURCE } from '../keys/source.js'
import type { Matching } from '../matching/index.js'
import type { Freshness } from '../watch/freshness.js'
import type { Entry } from '../watch/watch-state.js'
import { isSameFreshness } from './use-key.js'
import { type Equality, selectAll, useSelected } from './use-selected.js'

/**
 * Watches all keys that match a glob, or a list of keys, while the component is mounted, and renders the component
 * again after every change. All components share one watch per client. Without a source nothing is watched, and the
 * snapshot is `connecting`. Keys, codecs, errors and server rendering work as in {@link useKey}.
 *
 * @param source - the result of {@link matching}, or an array of keys; either may be created while rendering
 * @param select - returns the part of the snapshot that the component uses; the component renders only when that part
 * changes
 * @param equal - compares two parts; default `Object.is`
 * @example
 * ```tsx
 * const { values, freshness } = useKeys(
 *   matching(store, 'sensor/*', number),
 * )
 * const count = useKeys(
 *   matching(store, 'sensor/*', number),
 *   ({ values }) => values.size,
 * )
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
  select: (snapshot: KeysSnapshot<T>) => unknown = selectAll,
  equal?: Equality<unknown>,
): unknown {
  const identity = useStableArray(sourceIdentity(source))
  // biome-ignore lint/correctness/useExhaustiveDependencies: sources with the same identity are equal
  const watch = useMemo(() => new KeysWatch(source), [identity])
  return useSelected({ subscribe: watch.subscribe, read: watch.read, readOnServer: readUnknown }, select, equal)
}

/**
 * Returns a list of values that are the same for equal sources. Throws {@link ArgumentError} for anything but a source.
 */
function sourceIdentity<T>(source: KeysSource<T> | undefined): readonly unknown[] {
  if (source === undefined) return []
  if (isMatching(source)) {
    const [registry, glob, terms, codec] = source[GLOB]
    return [registry, glob, terms, identityOf(codec)]
  }
  checkArgument(
    Array.isArray(source) && source.every(key => Object(key) === key && SOURCE in key),
    '`matching(store, glob)` or an array of keys',
    source,
  )
  return source.flatMap(({ [SOURCE]: { key, host, codec } }) => [host.registry, key.id, identityOf(codec)])
}

function useStableArray(items: readonly unknown[]): readonly unknown[] {
  const last = useRef(items)
  const isSame = items.length === last.current.length && items.every((item, at) => Object.is(item, last.current[at]))
  if (!isSame) last.current = items
  return last.current
}

const readUnknown = (): typeof UNKNOWN => UNKNOWN

/** The state of several keys. Immutable, and the same object until something changes. */
export interface KeysSnapshot<T> {
  /** Values by key name, of all existing keys whose value decodes; see {@link Matching.map$}. */
  readonly values: ReadonlyMap<string, T>
  /** Whether the values are current: the worst freshness of all keys. */
  readonly freshness: Freshness
  /** Why the watch has ended: `closed`, or another error of {@link Matching.entries$} or {@link Key.entries$}. */
  readonly error: StateStoreError | undefined
}

const NONE = new Map<string, never>()

export const UNKNOWN: KeysSnapshot<never> = { values: NONE, freshness: { state: 'connecting' }, error: undefined }

/** All keys that match a glob, or a list of keys. */
export type KeysSource<T> = Matching<T> | readonly Key<T>[]

export const isMatching = <T>(source: KeysSource<T>): source is Matching<T> =>
  Object(source) === source && GLOB in source

export class KeysWatch<T> {
  readonly #source: KeysSource<T> | undefined
  #snapshot: KeysSnapshot<T> = UNKNOWN

  constructor(source: KeysSource<T> | undefined) {
    this.#source = source
  }

  /** Subscribes to changes. Returns a function that leaves the watches after the current task; see {@link KeyWatch}. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    if (this.#source === undefined) return () => undefined
    let isListening = true
    const update = (change: Partial<KeysSnapshot<T>>): void => {
      if (!isListening) return
      this.#snapshot = { ...this.#snapshot, ...change }
      onChange()
    }
    // The keys may have changed since an earlier subscription, such as one that a hidden `Activity` ended.
    this.#snapshot = UNKNOWN
    const subscription = changesOf(this.#source).subscribe({
      next: update,
      error: error => update({ error }),
      complete: () => update({ error: new ClosedError() }),
    })
    return () => {
      isListening = false
      afterIo(() => subscription.unsubscribe())
    }
  }

  readonly read = (): KeysSnapshot<T> => this.#snapshot
}

/** Emits a snapshot's changes. Its values are current whenever it becomes live. */
const changesOf = <T>(source: KeysSource<T>): Observable<Partial<KeysSnapshot<T>>> =>
  isMatching(source) ? changesOfGlob(source) : changesOfKeys(source)

const changesOfGlob = <T>({ map$, freshness$ }: Matching<T>): Observable<Partial<KeysSnapshot<T>>> =>
  new Observable(subscriber => {
    // Subscribed first, so that the values precede the freshness. Ends with the freshness.
    subscriber.add(map$.subscribe({ next: values => subscriber.next({ values }), error: () => undefined }))
    subscriber.add(freshness$.pipe(map(freshness => ({ freshness, error: undefined }))).subscribe(subscriber))
  })

/** Batches the changes of one turn of the event loop, or of more turns if there are many values, as {@link Matching.map$} does. */
const changesOfKeys = <T>(keys: readonly Key<T>[]): Observable<Partial<KeysSnapshot<T>>> =>
  new Observable(subscriber => {
    const values = new Map<string, T>()
    const clock = keys[0]?.[SOURCE].host.registry.clock
    let cancel: (() => void) | undefined
    const takeValues = (): Partial<KeysSnapshot<T>> => {
      cancel?.()
      cancel = undefined
      return { values: new Map(values) }
    }
    subscriber.add(() => cancel?.())
    const note = (name: string, entry: Entry<T>): void => {
      if (entry.op === 'set') values.set(name, entry.value)
      else if (!values.delete(name)) return
      cancel ??= clock?.schedule(copyDelayMs(values), () => subscriber.next(takeValues()))
    }
    const entries = merge(
      ...keys.map(key => key.entries$.pipe(tap(entry => note(uniqueName(key[SOURCE].key), entry)))),
    ).subscribe({ error: () => undefined })
    subscriber.add(entries)
    const changes$ = worstFreshness(keys).pipe(
      map(freshness => ({ ...(cancel && freshness.state === 'live' && takeValues()), freshness, error: undefined })),
    )
    subscriber.add(changes$.subscribe(subscriber))
  })

const FRESHNESS_ORDER: readonly Freshness['state'][] = ['connecting', 'stale', 'resyncing', 'live']

/**
 * Emits the worst freshness of all keys. Counts the keys by freshness: all of them change twice after a lost connection,
 * and comparing all of them at each change would take seconds for 10,000 keys.
 */
function worstFreshness<T>(keys: readonly Key<T>[]): Observable<Freshness> {
  // An empty list is always current and never ends.
  if (keys.length === 0) return NEVER.pipe(startWith<Freshness>({ state: 'live' }))
  return defer(() => {
    const counts = FRESHNESS_ORDER.map(() => 0)
    const latest: Freshness[] = []
    let unknownKeys = keys.length
    const count = (freshness: Freshness, change: 1 | -1): void => {
      const at = FRESHNESS_ORDER.indexOf(freshness.state)
      counts[at] = (counts[at] ?? 0) + change
      if (counts[at] === 1) latest[at] = freshness
    }
    const changes = keys.map(({ freshness$ }) =>
      freshness$.pipe(
        startWith(undefined),
        pairwise(),
        tap(([before, now]) => {
          if (before) count(before, -1)
          else unknownKeys--
          if (now) count(now, 1)
        }),
      ),
    )
    return merge(...changes).pipe(
      filter(() => unknownKeys === 0),
      map((): Freshness => latest[counts.findIndex(n => n > 0)] ?? { state: 'live' }),
      distinctUntilChanged(isSameFreshness),
    )
  })
}
