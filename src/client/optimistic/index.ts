import { distinctUntilChanged, filter, map, type Observable } from 'rxjs'
import { type Awaitable, StoreRequest } from '../../core/util/awaitable.js'
import { checkArgument } from '../../core/util/check.js'
import { hasSameContent } from '../../core/util/same-content.js'
import type { Key } from '../keys/key.js'
import { SOURCE } from '../keys/source.js'
import { checkOptions, type OptimisticOptions } from './options.js'
import type { OptimisticResult, OptimisticState } from './state.js'
import { WriteController } from './write-controller.js'

export { ConflictError, OfflineError } from './errors.js'
export type { LateWrite, Merge, OptimisticOptions } from './options.js'
export type { LateWriteInfo, OptimisticResult, OptimisticState } from './state.js'
export type { StoredWrite, WriteStorage } from './write-storage.js'
export { indexedDbStorage } from './write-storage.js'

/**
 * A key that shows writes before the store has confirmed them; created by {@link optimistic}. Callers that share a view
 * share its writes. The view is also an observer: `slider$.subscribe(view)`.
 */
export class Optimistic<T> {
  /** Name of the key. */
  readonly name: string
  /**
   * Emits the state to show, immediately and on every change. Watches the key, and ends with that watch. The outcomes
   * of writes are part of the state and never end the stream.
   */
  readonly state$: Observable<OptimisticState<T>>
  /** Emits the values of {@link state$}, starting with the first one that was read or written. */
  readonly value$: Observable<T | undefined>
  readonly #writeController: WriteController<T>

  /** Use {@link optimistic} instead. */
  constructor(key: Key<T>, options: OptimisticOptions<T>) {
    const source = key[SOURCE]
    this.name = source.key.text
    this.#writeController = new WriteController(source, checkOptions(options, source.host.timeout))
    this.state$ = this.#writeController.state$
    this.value$ = this.state$.pipe(
      filter(({ state }) => state !== 'connecting'),
      map(({ value }) => value),
      // A written value is decoded again when the store notifies of it.
      distinctUntilChanged((before, now) => hasSameContent(before, now)),
    )
  }

  /** The state to show now, without subscribing. */
  get state(): OptimisticState<T> {
    return this.#writeController.state
  }

  /**
   * Writes a value and shows it, at once. The result can be awaited or subscribed to; see {@link StoreRequest}.
   * Unsubscribing withdraws a write that has not been sent. The function is bound. Errors with `conflict`,
   * `offline` and the errors of {@link Key.set}; {@link state$} also shows these errors.
   *
   * @example
   * ```ts
   * const { outcome, version } = await setPoint.set(21.5)
   * ```
   */
  readonly set = (value: T): Awaitable<OptimisticResult<T>> =>
    new StoreRequest(() => this.#writeController.write(value), shown)

  /**
   * Writes a value immediately; {@link state$} shows the outcome. The function is bound, so it can be passed as a
   * callback.
   *
   * @example
   * ```ts
   * fromEvent(slider, 'input')
   *   .pipe(map(() => slider.valueAsNumber))
   *   .subscribe(setPoint)
   * ```
   */
  readonly next = (value: T): void => {
    this.#writeController.write(value).subscribe({ error: () => undefined })
  }
}

/**
 * Creates a writable view of a key. The view shows writes immediately, confirms them with the version from the store,
 * and reverts them if they are refused. One write is in flight at a time and the newest one waits; writes in between
 * are `superseded`. The view never falls back to an earlier value in the meantime. Throws `argument` if `key` is not a
 * key, and for invalid options.
 *
 * @example
 * ```ts
 * const setPoint = optimistic(store.key('thermostat1/setPoint', number), {
 *   conflict: 'refuse',
 * })
 * setPoint.state$.subscribe(({ value, state, error }) =>
 *   render(value, state, error?.message),
 * )
 * button.onclick = () => setPoint.next(21.5)
 * ```
 */
export function optimistic<T>(key: Key<T>, options: OptimisticOptions<T> = {}): Optimistic<T> {
  checkArgument(Object(key) === key && key[SOURCE] !== undefined, 'a key of a store', key)
  return new Optimistic(key, options)
}

/** The state of a view shows the errors of its writes. */
const shown = (): void => undefined
