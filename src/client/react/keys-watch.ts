import { combineLatest, map, merge, NEVER, Observable, startWith } from 'rxjs'
import { afterIo } from '../../core/util/clock.js'
import { ClosedError } from '../../core/util/errors.js'
import type { Key } from '../keys/key.js'
import { GLOB, SOURCE } from '../keys/source.js'
import type { Matching } from '../matching/matching.js'
import type { Freshness } from '../watch/freshness.js'
import { type KeysSnapshot, UNKNOWN } from './keys-snapshot.js'

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
