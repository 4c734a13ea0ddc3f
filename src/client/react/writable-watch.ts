import { afterIo } from '../../core/util/clock.js'
import { ClosedError, type StateStoreError } from '../../core/util/errors.js'
import type { Optimistic, OptimisticState } from '../optimistic/index.js'

/** A key that is not known yet; also what a server renders. */
export const UNREAD: OptimisticState<never> = {
  value: undefined,
  state: 'connecting',
  confirmed: undefined,
  version: undefined,
  error: undefined,
  late: undefined,
  freshness: { state: 'connecting' },
}

/** A writable view as an external store of React; left only after the task that runs, as StrictMode comes back at once. */
export class WritableWatch<T> {
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
