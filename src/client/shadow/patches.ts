import { Observable, Subject, tap } from 'rxjs'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import type { Key } from '../keys/key.js'
import type { Optimistic, OptimisticOptions, OptimisticResult } from '../optimistic/index.js'
import { optimistic } from '../optimistic/index.js'
import { applyPatch, mergedFields, type ShadowPatch } from './fields.js'

/**
 * A document that is written by patches. A merge writes only the fields of its patch and of the patches that it
 * superseded. Fields of sent patches with unknown outcome are not written again.
 */
export class Patches<T extends object> {
  readonly view: Optimistic<Partial<T>>
  readonly results$ = new Subject<OptimisticResult<Partial<T>>>()
  /** Fields that a document writes. */
  readonly #fields = new WeakMap<object, Set<string>>()
  #latestFields = new Set<string>()

  constructor(key: Key<Partial<T>>, options: Omit<OptimisticOptions<Partial<T>>, 'conflict'>) {
    this.view = optimistic(key, {
      ...options,
      conflict: (mine, theirs, base) => mergedFields(mine, theirs, base, this.#fields.get(mine)),
    })
  }

  /** Changes fields; `undefined` removes a field. Cold. */
  write(patch: ShadowPatch<T>): Observable<OptimisticResult<Partial<T>>> {
    return new Observable(subscriber => {
      if (Object(patch) !== patch || Array.isArray(patch)) {
        subscriber.error(new ArgumentError(`Expected an object of fields, got \`${formatValue(patch)}\``))
        return undefined
      }
      const document = applyPatch(this.view.state.value, patch)
      const fields = new Set(Object.keys(patch))
      this.#fields.set(document, fields)
      this.#latestFields = fields
      const written$ = this.view.set(document).pipe(
        tap(result => {
          if (result.outcome === 'superseded') for (const name of fields) this.#latestFields.add(name)
          this.results$.next(result)
        }),
      )
      return written$.subscribe(subscriber)
    })
  }
}
