import type { Subscription } from 'rxjs'
import { systemClock } from '../../core/util/clock.js'
import { reason } from '../../core/util/errors.js'
import type { Lives } from './lives.js'
import { KEPT, type LogEvent, type Outlets } from './outlets.js'

/** A node that could not be opened anew is tried again, ms. */
const RETRY = 5_000

/** Does what becomes of a log that nodes share asks for: clients are sent away or let in again, the node is opened anew. */
export class NodeWatch {
  readonly #outlets: Outlets
  readonly #lives: Lives
  readonly #subscription: Subscription
  #cancel: () => void = () => undefined

  constructor(outlets: Outlets, lives: Lives) {
    this.#outlets = outlets
    this.#lives = lives
    this.#subscription = outlets.log$.subscribe(event => {
      if (event !== undefined) this.#take(event)
    })
    this.#subscription.add(outlets.concern$.subscribe(concern => this.#tellKept(concern)))
  }

  stop(): void {
    this.#cancel()
    this.#subscription.unsubscribe()
  }

  #take(event: LogEvent): void {
    const { storage$ } = this.#outlets
    if (event.type === 'outrun') this.#open()
    else if (event.type === 'failed') this.#fail(event.error)
    else if (event.availability === 'kept') {
      this.#lives.life.away = undefined
      storage$.next(KEPT)
    } else {
      if (event.availability === 'away') this.#lives.life.away = 'the log of the store cannot be reached'
      if (storage$.value.state !== 'waiting') storage$.next({ state: 'waiting', error: event.cause })
    }
  }

  /** What is worse is said already. */
  #tellKept(concern: unknown): void {
    const { storage$ } = this.#outlets
    const { state, error } = storage$.value
    if (state !== 'kept' && state !== 'degraded') return
    if (concern === undefined && state === 'degraded') storage$.next(KEPT)
    if (concern !== undefined && (state === 'kept' || reason(concern) !== reason(error)))
      storage$.next({ state: 'degraded', error: concern })
  }

  #open(): void {
    this.#lives.life.away = 'this node has to catch up'
    this.#lives.restart('kept').catch(error => {
      this.#fail(error)
      this.#cancel = systemClock.schedule(RETRY, () => this.#open())
    })
  }

  #fail(error: unknown): void {
    this.#lives.life.away = 'this store has stopped'
    this.#outlets.storage$.next({ state: 'broken', error })
  }
}
