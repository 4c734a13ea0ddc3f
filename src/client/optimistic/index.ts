import { distinctUntilChanged, filter, map, type Observable } from 'rxjs'
import { Awaitable } from '../../core/util/awaitable.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
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
 * A key that shows what the user writes before the store has answered; made by {@link optimistic}. All who share the view
 * share its writes. It takes values as an observer does: `slider$.subscribe(view)`.
 */
export class Optimistic<T> {
  /** The key. */
  readonly name: string
  /**
   * What to show, at once and then whenever it changes. Watches the key as its other watches do, and ends as they do; the
   * outcome of writes is in the states, and never ends them.
   */
  readonly state$: Observable<OptimisticState<T>>
  /** The values of {@link state$}, from the first that was read or written. */
  readonly value$: Observable<T | undefined>
  readonly #writeController: WriteController<T>

  /** Use {@link optimistic}. */
  constructor(key: Key<T>, options: OptimisticOptions<T>) {
    const source = key[SOURCE]
    this.name = source.key.text
    this.#writeController = new WriteController(source, checkOptions(options, source.host.timeout))
    this.state$ = this.#writeController.state$
    this.value$ = this.state$.pipe(
      filter(({ state }) => state !== 'connecting'),
      map(({ value }) => value),
      // A value that was written is decoded anew when it is confirmed.
      distinctUntilChanged((before, now) => hasSameContent(before, now)),
    )
  }

  /** What to show now, without looking on. */
  get state(): OptimisticState<T> {
    return this.#writeController.state
  }

  /**
   * Writes the value, and shows it at once; to be subscribed or awaited, see {@link StoreRequest}: alone it does nothing.
   * For those who want the result; handlers of a page use {@link next}. Unsubscribing takes it back if it was not sent yet.
   * Errors with `conflict`, `offline`, and as {@link Key.set} does; the same is in {@link state$}.
   *
   * @example
   * ```ts
   * const { outcome, version } = await setPoint.set(21.5)
   * ```
   */
  set(value: T): Awaitable<OptimisticResult<T>> {
    return new Awaitable(subscriber => this.#writeController.write(value).subscribe(subscriber))
  }

  /**
   * Writes the value now; what becomes of it is in {@link state$}. A function of its own, so that it can be handed on.
   *
   * @example
   * ```ts
   * fromEvent(slider, 'input').pipe(map(() => slider.valueAsNumber)).subscribe(setPoint)
   * ```
   */
  readonly next = (value: T): void => {
    this.#writeController.write(value).subscribe({ error: () => undefined })
  }
}

/**
 * A writable view of a key for a page: what the user writes is shown at once, confirmed by its version when the store has
 * answered, and taken back when it was refused. One write is under way at a time and the newest waits; those between are
 * `superseded`. What was written before is never shown again in between. Throws `argument` for anything but a key, and for
 * wrong options.
 *
 * @example
 * ```ts
 * const setPoint = optimistic(store.key('thermostat1/setPoint', number), { conflict: 'refuse' })
 * setPoint.state$.subscribe(({ value, state, error }) => render(value, state, error?.message))
 * button.onclick = () => setPoint.next(21.5)
 * ```
 */
export function optimistic<T>(key: Key<T>, options: OptimisticOptions<T> = {}): Optimistic<T> {
  if (Object(key) !== key || key[SOURCE] === undefined)
    throw new ArgumentError(`Expected a key of a store, got \`${formatValue(key)}\` (${typeof key})`)
  return new Optimistic(key, options)
}
