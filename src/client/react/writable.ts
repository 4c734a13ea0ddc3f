'use client'

import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { checkArgument } from '../../core/util/check.js'
import { afterIo } from '../../core/util/clock.js'
import { ClosedError, type StateStoreError } from '../../core/util/errors.js'
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

/** The state of a key that a component writes. */
export interface WritableSnapshot<T> extends OptimisticState<T> {
  /** Whether the store's response is pending or was lost, which are the states `pending` and `unknown`. */
  readonly isPending: boolean
}

/** The value to show, the function that writes it, and the whole state. */
export type Writable<T> = readonly [value: T | undefined, set: (value: T) => void, snapshot: WritableSnapshot<T>]

/**
 * Watches a key and writes it optimistically: a new value is rendered immediately, and reverted with an error if the
 * store rejects it. `set` stays the same function while the key stays the same. A write's outcome is in the
 * snapshot.
 *
 * Key and options may be created while rendering. Functions in the options may change at any time, and the first
 * `storage` is kept; changing any other option creates a new view. Components that pass the same view of
 * {@link optimistic} share its writes. A component that passes a key has a private view: a write pending at unmount
 * continues, but the next component does not show it. Without a key, there is no watch, and `set` has no effect.
 *
 * @example
 * ```tsx
 * const [celsius, setCelsius, { state, error }] = useWritableKey(
 *   store.key('setPoint', number),
 *   { conflict: 'refuse' },
 * )
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
  const state = useSyncExternalStore(watch?.subscribe ?? subscribeNever, watch?.read ?? readUnknown, readUnknown)
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
  const plainKey = key instanceof Optimistic ? undefined : key
  const source = plainKey && sourceOf(plainKey)
  const codec = source && identityOf(source.codec)
  const { conflict, offline, maxAge, timeout, expiresIn, persist } = options
  const hasStorage = options.storage !== undefined
  const mode = typeof conflict === 'function' ? 'merge' : conflict
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal keys are the same, functions are read from `latest`, the first storage is kept
  const created = useMemo(
    () => plainKey && optimistic(plainKey, withLatestCallbacks(options, latest)),
    [source?.host.registry, source?.key.id, codec, mode, offline, maxAge, hasStorage, timeout, expiresIn, persist],
  )
  return key instanceof Optimistic ? key : created
}

/** Returns the options with functions that call the functions of the latest rendering. */
function withLatestCallbacks<T>(options: OptimisticOptions<T>, latest: Latest<T>): OptimisticOptions<T> {
  const { conflict, ask } = options
  const merge = (mine: T, theirs: T | undefined, base: T | undefined): T => {
    const { conflict: now } = latest.current
    return typeof now === 'function' ? now(mine, theirs, base) : mine
  }
  const askLatest = (write: LateWrite<T>) => latest.current.ask?.(write) ?? []
  return { ...options, ...(typeof conflict === 'function' && { conflict: merge }), ...(ask && { ask: askLatest }) }
}

function sourceOf<T>(key: Key<T>): Key<T>[typeof SOURCE] {
  const source = Object(key) === key ? key[SOURCE] : undefined
  checkArgument(source !== undefined, 'a key of a store', key)
  return source
}

const ignore = (): void => undefined
const subscribeNever = (): (() => void) => () => undefined
const readUnknown = (): OptimisticState<never> => UNKNOWN

const UNKNOWN: OptimisticState<never> = {
  value: undefined,
  state: 'connecting',
  confirmed: undefined,
  version: undefined,
  error: undefined,
  late: undefined,
  freshness: { state: 'connecting' },
}

/**
 * A writable view as an external store of React. Unsubscribes after the current task, in which StrictMode may
 * resubscribe.
 */
class WritableWatch<T> {
  readonly #view: Optimistic<T>
  #state: OptimisticState<T> = UNKNOWN
  #subscribers = 0

  constructor(view: Optimistic<T>) {
    this.#view = view
  }

  /** Subscribes to changes. Returns a function that unsubscribes, to be called once. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    this.#subscribers++
    const end = (error: StateStoreError): void => {
      this.#state = { ...this.#state, error }
      onChange()
    }
    const subscription = this.#view.state$.subscribe({
      next: state => {
        this.#state = state
        onChange()
      },
      error: end,
      complete: () => end(new ClosedError()),
    })
    return () => {
      this.#subscribers--
      afterIo(() => subscription.unsubscribe())
    }
  }

  readonly read = (): OptimisticState<T> => {
    if (this.#subscribers === 0) this.#state = this.#view.state
    return this.#state
  }
}
