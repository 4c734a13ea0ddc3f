'use client'

import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { afterIo } from '../../core/util/clock.js'
import { ArgumentError, ClosedError, formatValue, type StateStoreError } from '../../core/util/errors.js'
import { identityOf } from '../keys/json.js'
import type { Key } from '../keys/key.js'
import { SOURCE } from '../keys/source.js'
import {
  type LateWrite,
  Optimistic,
  type OptimisticOptions,
  type OptimisticState,
  optimistic,
} from '../optimistic/index.js'

/** What a component is told of a key that it writes, besides the value. */
export interface WritableSnapshot<T> extends OptimisticState<T> {
  /** The store has not answered yet, or its answer is lost: `pending` or `unknown`. */
  readonly isPending: boolean
}

/** The value to show, the function that writes, and all else. */
export type Writable<T> = readonly [value: T | undefined, set: (value: T) => void, snapshot: WritableSnapshot<T>]

/**
 * A key that is written where it is shown: what the user writes is rendered at once, and taken back with an error when the
 * store refuses it. `set` stays the same function as long as the key does; what becomes of a write is in the snapshot.
 *
 * The key may be made while rendering, and options, too: their functions may change at any time, a storage stays the first
 * one; another value of any other one makes a new view. Components that give it the same view of {@link optimistic} share its writes; one that gives a
 * key has a view of its own, and a write that waits when it is unmounted goes on, but is not shown by the next one.
 * Without a key nothing is watched, and `set` does nothing.
 *
 * @example
 * ```tsx
 * const [celsius, setCelsius, { state, error }] = useWritableKey(store.key('setPoint', number), { conflict: 'refuse' })
 * ```
 */
export function useWritableKey<T>(
  key: Key<T> | Optimistic<T> | undefined,
  options: OptimisticOptions<T> = {},
): Writable<T> {
  const latest = useRef(options)
  useEffect(() => {
    latest.current = options
  })
  const view = useView(key, options, latest)
  const watch = useMemo(() => view && new WritableWatch(view), [view])
  const state = useSyncExternalStore(watch?.subscribe ?? never, watch?.read ?? unread, unread)
  return useMemo(() => {
    const isPending = state.state === 'pending' || state.state === 'unknown'
    return [state.value, view?.next ?? ignore, { ...state, isPending }] as const
  }, [state, view])
}

type Latest<T> = { readonly current: OptimisticOptions<T> }

function useView<T>(
  key: Key<T> | Optimistic<T> | undefined,
  options: OptimisticOptions<T>,
  latest: Latest<T>,
): Optimistic<T> | undefined {
  const plain = key instanceof Optimistic ? undefined : key
  const source = plain && sourceOf(plain)
  const codec = source && identityOf(source.codec)
  const { conflict, offline, maxAge, timeout, expiresIn, persist } = options
  const isKept = options.storage !== undefined
  const mode = typeof conflict === 'function' ? 'merge' : conflict
  // biome-ignore lint/correctness/useExhaustiveDependencies: a key made anew is the same key, functions are looked up, and a storage made anew is as the one before
  const own = useMemo(
    () => plain && optimistic(plain, lookedUp(options, latest)),
    [source?.host.registry, source?.key.id, codec, mode, offline, maxAge, isKept, timeout, expiresIn, persist],
  )
  return key instanceof Optimistic ? key : own
}

/** The same options, but functions are those of the latest rendering. */
function lookedUp<T>(options: OptimisticOptions<T>, latest: Latest<T>): OptimisticOptions<T> {
  const { conflict, ask } = options
  const merge = (mine: T, theirs: T | undefined, base: T | undefined): T => {
    const { conflict: now } = latest.current
    return typeof now === 'function' ? now(mine, theirs, base) : mine
  }
  const asked = (write: LateWrite<T>) => latest.current.ask?.(write) ?? []
  return { ...options, ...(typeof conflict === 'function' && { conflict: merge }), ...(ask && { ask: asked }) }
}

function sourceOf<T>(key: Key<T>): Key<T>[typeof SOURCE] {
  const source = Object(key) === key ? key[SOURCE] : undefined
  if (source === undefined)
    throw new ArgumentError(`Expected a key of a store, got \`${formatValue(key)}\` (${typeof key})`)
  return source
}

const ignore = (): void => undefined
const never = (): (() => void) => () => undefined
const unread = (): OptimisticState<never> => UNREAD

/** A key that is not known yet; also what a server renders. */
const UNREAD: OptimisticState<never> = {
  value: undefined,
  state: 'connecting',
  confirmed: undefined,
  version: undefined,
  error: undefined,
  late: undefined,
  freshness: { state: 'connecting' },
}

/** A writable view as an external store of React; left only after the task that runs, as StrictMode comes back at once. */
class WritableWatch<T> {
  readonly #view: Optimistic<T>
  #state: OptimisticState<T> = UNREAD
  #subscribers = 0

  constructor(view: Optimistic<T>) {
    this.#view = view
  }

  /** Looks at the view. The returned function ends that, once. */
  readonly subscribe = (changed: () => void): (() => void) => {
    this.#subscribers++
    const end = (error: StateStoreError): void => {
      this.#state = { ...this.#state, error }
      changed()
    }
    const looking = this.#view.state$.subscribe({
      next: state => {
        this.#state = state
        changed()
      },
      error: end,
      complete: () => end(new ClosedError()),
    })
    return () => {
      this.#subscribers--
      afterIo(() => looking.unsubscribe())
    }
  }

  /** The state now. */
  readonly read = (): OptimisticState<T> => {
    if (this.#subscribers === 0) this.#state = this.#view.state
    return this.#state
  }
}
