import type { StandardSchemaV1 } from '@standard-schema/spec'
import { combineLatest, concatMap, defer, filter, map, Observable, type ObservableInput, take } from 'rxjs'
import { Awaitable } from '../../core/util/awaitable.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Codec } from '../keys/codec.js'
import { json } from '../keys/json.js'
import { StoreView } from '../keys/store-view.js'
import type { Optimistic, OptimisticOptions, OptimisticResult, OptimisticState } from '../optimistic/index.js'
import { type Delta, deltas } from './delta.js'
import { difference, isEmpty } from './fields.js'
import { Patches } from './patches.js'

export type { Delta } from './delta.js'

/** How a shadow is written: as {@link OptimisticOptions} say, but that writers never conflict: fields are merged. */
export type ShadowOptions<T> = Omit<OptimisticOptions<Partial<T>>, 'conflict'>

/** A device as an application sees it. Immutable. */
export interface ShadowState<T> {
  /** What it is to be, own wishes that are under way included. */
  readonly desired: Partial<T> | undefined
  /** What it says it is. */
  readonly reported: Partial<T> | undefined
  /** The fields in which it is not what it is to be. */
  readonly delta: Partial<T>
  /** Where the last own wish stands, and all else that is known of wishes and reports. */
  readonly wish: OptimisticState<Partial<T>>
  readonly report: OptimisticState<Partial<T>>
}

/** A device's desired and reported state; made by {@link shadow}. */
export class Shadow<T extends object> {
  /** What the device is to be: the key `{name}/desired`. */
  readonly desired: Optimistic<Partial<T>>
  /** What it says it is: the key `{name}/reported`. */
  readonly reported: Optimistic<Partial<T>>
  /** The device as an application sees it, at once and whenever it changes. */
  readonly state$: Observable<ShadowState<T>>
  /**
   * What the device has to do, whenever that is something else: by what the store has, both keys read on this connection.
   * It is made of states and not of steps, so that none is missed and none is old. A
   * report that was done and that somebody has taken back since, or that was lost with a later one, makes the next delta
   * another, even if it looks the same.
   */
  readonly delta$: Observable<Delta<T>>
  readonly #wishes: Patches<T>
  readonly #reports: Patches<T>

  /** Use {@link shadow}. */
  constructor(store: StoreView, name: string, codec: Codec<Partial<T>>, options: ShadowOptions<T>) {
    this.#wishes = new Patches<T>(store.key(`${name}/desired`, codec), options)
    this.#reports = new Patches<T>(store.key(`${name}/reported`, codec), options)
    this.desired = this.#wishes.view
    this.reported = this.#reports.view
    const both$ = combineLatest([this.desired.state$, this.reported.state$])
    this.state$ = both$.pipe(
      map(([wish, report]) => {
        const [desired, reported] = [wish.value, report.value]
        return { desired, reported, delta: difference(desired, reported), wish, report }
      }),
    )
    const reported$ = this.#reports.results$.pipe(
      filter(({ outcome }) => outcome !== 'withdrawn'),
      map(({ value, version }) => ({ desired: this.desired.state.confirmed, reported: value, version })),
    )
    this.delta$ = deltas(both$, reported$)
  }

  /**
   * Wishes: changes these fields of what is desired and leaves all others; `undefined` takes one out. One request, as
   * {@link Optimistic.set}. What others wish at the same time for other fields is kept.
   */
  desire(patch: Partial<T>): Awaitable<OptimisticResult<Partial<T>>> {
    return new Awaitable(subscriber => this.#wishes.write(patch).subscribe(subscriber))
  }

  /** Reports: changes these fields of what the device says it is. One request, as {@link Optimistic.set}. */
  report(patch: Partial<T>): Awaitable<OptimisticResult<Partial<T>>> {
    return new Awaitable(subscriber => this.#reports.write(patch).subscribe(subscriber))
  }

  /**
   * The device's side: does what is desired, one delta at a time, and reports what it says it has become. Wishes that come
   * meanwhile are looked at when it is done, as one delta. One that it cannot do, and so leaves in the delta, is not tried
   * again before the delta is another one. Cold; errors with what `apply` and reports do.
   *
   * @param apply - does a delta, and returns the fields to report
   * @example
   * ```ts
   * pump.follow(async ({ delta }) => ({ speed: await motor.turn(delta.speed) })).pipe(retry({ delay: 1_000 })).subscribe()
   * ```
   */
  follow(apply: (delta: Delta<T>) => ObservableInput<Partial<T>>): Observable<OptimisticResult<Partial<T>>> {
    return follow(this.delta$, apply, fields => this.report(fields))
  }
}

/**
 * The shadow of a device on keys: what it is to be and what it says it is, as JSON objects, and the difference. Who writes
 * different fields at the same time loses nothing, a device that was away finds what is desired by now, and versions rise
 * also across a delete. Throws `argument` for anything but a store and a name, and for wrong options.
 *
 * @param schema - of a document, in which every field may be missing; a Standard Schema
 * @example
 * ```ts
 * const pump = shadow<Pump>(store, 'pump-7')
 * pump.state$.subscribe(({ desired, reported, delta }) => render(desired, reported, delta))
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
  if (!(store instanceof StoreView)) throw new ArgumentError(`Expected a store, got \`${formatValue(store)}\``)
  if (typeof name !== 'string' || name === '')
    throw new ArgumentError(`Expected the name of a device, got \`${formatValue(name)}\` (${typeof name})`)
  return new Shadow(store, name, codecOf(schema), options)
}

/** Documents are written field by field, and validated as a whole when they are read. */
function codecOf<T extends object>(schema: StandardSchemaV1<unknown, T> | undefined): Codec<Partial<T>> {
  if (schema !== undefined && Object(schema)['~standard'] === undefined)
    throw new ArgumentError(
      `Expected the schema of \`shadow\` to be a Standard Schema or undefined, got \`${formatValue(schema)}\`: pass the schema itself instead of \`json()\`, and options as the fourth argument`,
    )
  const plain = json<Partial<T>>()
  const read: Codec<Partial<T>> = schema === undefined ? plain : json(schema)
  return { encode: value => plain.encode(checked(value)), decode: bytes => checked(read.decode(bytes)) }
}

/** Whoever writes the keys may write anything; the letters of a text are no fields. */
function checked<D extends object>(document: D): D {
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document
  throw new ArgumentError(`Expected the document to be a JSON object, got \`${formatValue(document)}\``)
}

/** Does deltas one at a time, the newest next, and reports. */
function follow<T extends object, R>(
  delta$: Observable<Delta<T>>,
  apply: (delta: Delta<T>) => ObservableInput<Partial<T>>,
  report: (fields: Partial<T>) => Observable<R>,
): Observable<R> {
  return new Observable(subscriber => {
    let next: Delta<T> | undefined
    let isBusy = false
    const work = (): void => {
      const delta = next
      if (isBusy || delta === undefined || subscriber.closed) return
      isBusy = true
      next = undefined
      const done$ = defer(() => apply(delta)).pipe(take(1), concatMap(report))
      subscriber.add(
        done$.subscribe({
          next: result => subscriber.next(result),
          error: error => subscriber.error(error),
          complete: () => {
            isBusy = false
            work()
          },
        }),
      )
    }
    const source = delta$.subscribe({
      next: delta => {
        next = isEmpty(delta.delta) ? undefined : delta
        work()
      },
      error: error => subscriber.error(error),
      complete: () => subscriber.complete(),
    })
    subscriber.add(source)
  })
}
