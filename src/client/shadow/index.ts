import type { StandardSchemaV1 } from '@standard-schema/spec'
import { combineLatest, concatMap, defer, filter, map, Observable, type ObservableInput, take } from 'rxjs'
import { type Awaitable, StoreRequest } from '../../core/util/awaitable.js'
import { checkArgument } from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Codec } from '../keys/codec.js'
import { json } from '../keys/json.js'
import { StoreView } from '../keys/store-view.js'
import type { Optimistic, OptimisticOptions, OptimisticResult, OptimisticState } from '../optimistic/index.js'
import { type Delta, deltas, isOutdated } from './delta.js'
import { difference, isEmpty, type ShadowPatch } from './fields.js'
import { Patches } from './patches.js'

export type { Delta } from './delta.js'
export type { ShadowPatch } from './fields.js'

/** Options of a shadow: {@link OptimisticOptions} without `conflict`, because fields are merged. */
export type ShadowOptions<T> = Omit<OptimisticOptions<Partial<T>>, 'conflict'>

/** A device's shadow, for applications. Immutable. */
export interface ShadowState<T> {
  /** Desired state, including pending changes by this application. */
  readonly desired: Partial<T> | undefined
  /** State reported by the device. */
  readonly reported: Partial<T> | undefined
  /** Desired fields that differ from the reported state. */
  readonly delta: Partial<T>
  /** The full state of each document, with the outcome of its last change. */
  readonly wish: OptimisticState<Partial<T>>
  readonly report: OptimisticState<Partial<T>>
}

/** The desired and reported state of a device. Created by {@link shadow}. */
export class Shadow<T extends object> {
  /** Desired state: the key `{name}/desired`. */
  readonly desired: Optimistic<Partial<T>>
  /** Reported state: the key `{name}/reported`. */
  readonly reported: Optimistic<Partial<T>>
  /** Emits the shadow for applications, immediately and on every change. */
  readonly state$: Observable<ShadowState<T>>
  /**
   * Emits the changes that the device must make, whenever they change. The delta is based on confirmed states, once
   * both keys have been read on this connection, so it always leads to the current desired state and never through
   * outdated ones. If another client reverts a report, or a report is lost together with a later one, the delta is
   * emitted again even if it looks the same.
   */
  readonly delta$: Observable<Delta<T>>
  readonly #wishes: Patches<T>
  readonly #reports: Patches<T>

  /** Use {@link shadow} instead. */
  constructor(store: StoreView, name: string, codec: Codec<Partial<T>>, options: ShadowOptions<T>) {
    this.#wishes = new Patches<T>(store.key(`${name}/desired`, codec), options)
    this.#reports = new Patches<T>(store.key(`${name}/reported`, codec), options)
    this.desired = this.#wishes.view
    this.reported = this.#reports.view
    const states$ = combineLatest([this.desired.state$, this.reported.state$])
    this.state$ = states$.pipe(
      map(([wish, report]) => {
        const [desired, reported] = [wish.value, report.value]
        return { desired, reported, delta: difference(desired, reported), wish, report }
      }),
    )
    const reported$ = this.#reports.results$.pipe(
      filter(({ outcome }) => outcome !== 'withdrawn'),
      map(({ value, version }) => ({ desired: this.desired.state.confirmed, reported: value, version })),
    )
    this.delta$ = deltas(states$, reported$)
  }

  /**
   * Changes the given fields of the desired state; `undefined` removes a field. Returns one request, as
   * {@link Optimistic.set} does. Concurrent changes to other fields are kept.
   */
  desire(patch: ShadowPatch<T>): Awaitable<OptimisticResult<Partial<T>>> {
    return new StoreRequest(() => this.#wishes.write(patch), shown)
  }

  /** Changes the given fields of the reported state. Returns one request, as {@link Optimistic.set} does. */
  report(patch: ShadowPatch<T>): Awaitable<OptimisticResult<Partial<T>>> {
    return new StoreRequest(() => this.#reports.write(patch), shown)
  }

  /**
   * Runs the device: applies one delta at a time and reports the result. Changes that arrive in the meantime are
   * applied afterwards as one delta. A delta that the device leaves unresolved is retried only once the delta changes.
   * Cold. Errors as `apply` and reports do.
   *
   * @param apply - applies a delta and returns the fields to report
   * @example
   * ```ts
   * pump
   *   .follow(async ({ delta }) => ({
   *     speed: await motor.turn(delta.speed),
   *   }))
   *   .pipe(retry({ delay: 1_000 }))
   *   .subscribe()
   * ```
   */
  follow(apply: (delta: Delta<T>) => ObservableInput<ShadowPatch<T>>): Observable<OptimisticResult<Partial<T>>> {
    const isCurrent = (delta: Delta<T>): boolean => !isOutdated(delta, [this.desired.state, this.reported.state])
    return follow(this.delta$, isCurrent, apply, fields => this.report(fields))
  }
}

/**
 * Creates a device's shadow, which consists of its desired and reported state, as JSON objects in two keys, and
 * the difference between them. Concurrent writes to different fields are all kept. A device that was offline finds the
 * current desired state. Versions keep rising after a deletion. Throws `argument` if `store` or `name` is invalid, and
 * for invalid options.
 *
 * @param schema - Standard Schema of a document, in which every field may be missing
 * @example
 * ```ts
 * const pump = shadow<Pump>(store, 'pump-7')
 * pump.state$.subscribe(({ desired, reported, delta }) =>
 *   render(desired, reported, delta),
 * )
 * await pump.desire({ speed: 1_200 })
 * ```
 */
export function shadow<S extends StandardSchemaV1<unknown, object>>(
  store: StoreView,
  name: string,
  schema: S,
  options?: ShadowOptions<StandardSchemaV1.InferOutput<S>>,
): Shadow<StandardSchemaV1.InferOutput<S>>
export function shadow<T extends object>(
  store: StoreView,
  name: string,
  schema?: undefined,
  options?: ShadowOptions<T>,
): Shadow<T>
export function shadow<T extends object>(
  store: StoreView,
  name: string,
  schema?: StandardSchemaV1<unknown, T>,
  options: ShadowOptions<T> = {},
): Shadow<T> {
  checkArgument(store instanceof StoreView, 'a store', store)
  checkArgument(typeof name === 'string' && name !== '', 'the name of a device', name)
  return new Shadow(store, name, codecOf(schema), options)
}

/** Validates documents only when they are read, because they are written field by field. */
function codecOf<T extends object>(schema: StandardSchemaV1<unknown, T> | undefined): Codec<Partial<T>> {
  if (schema !== undefined && Object(schema)['~standard'] === undefined)
    throw new ArgumentError(
      `Expected the schema of \`shadow\` to be a Standard Schema or undefined, got \`${formatValue(schema)}\`: pass the schema itself instead of \`json()\`, and options as the fourth argument`,
    )
  const plain = json<Partial<T>>()
  const read: Codec<Partial<T>> = schema === undefined ? plain : json(schema)
  return { encode: value => plain.encode(checkDocument(value)), decode: bytes => checkDocument(read.decode(bytes)) }
}

/** Throws for anything but an object: other clients may write any value, and a text would be read as fields. */
function checkDocument<D extends object>(document: D): D {
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document
  throw new ArgumentError(`Expected the document to be a JSON object, got \`${formatValue(document)}\``)
}

/** Applies one delta at a time and then skips to the latest one, unless another one is about to follow. */
function follow<T extends object, R>(
  delta$: Observable<Delta<T>>,
  isCurrent: (delta: Delta<T>) => boolean,
  apply: (delta: Delta<T>) => ObservableInput<ShadowPatch<T>>,
  report: (fields: ShadowPatch<T>) => Observable<R>,
): Observable<R> {
  return new Observable(subscriber => {
    let next: Delta<T> | undefined
    let isBusy = false
    const applyNext = (): void => {
      const delta = next
      if (isBusy || delta === undefined || subscriber.closed || !isCurrent(delta)) return
      isBusy = true
      next = undefined
      const done$ = defer(() => apply(delta)).pipe(take(1), concatMap(report))
      subscriber.add(
        done$.subscribe({
          next: result => subscriber.next(result),
          error: error => subscriber.error(error),
          complete: () => {
            isBusy = false
            applyNext()
          },
        }),
      )
    }
    const source = delta$.subscribe({
      next: delta => {
        next = isEmpty(delta.delta) ? undefined : delta
        applyNext()
      },
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(source)
  })
}

/** The state of a view shows the errors of its writes. */
const shown = (): void => undefined
