import type { Subscription } from 'rxjs'
import type { StateStore } from '../../client/connect/client.js'
import type { Clock } from '../../core/util/clock.js'
import { ClosedError, RequestRejectedError, StateStoreError } from '../../core/util/errors.js'

/** Asked for; no matter whether there is such a key. */
const KEY = 'rx-statestore/sentry'
/** ms a store has to answer, and until it is asked again. */
const TIMEOUT = 500
const PAUSE = 1_000
/** So many answers are missing before a store that was never heard, or one that was, counts as gone. */
const SILENCES = { never: 3, heard: 4 }
/** MQTT 5.0, section 2.4. */
const NOT_AUTHORIZED = 135

/** What it tells. */
interface SentryEvents {
  /** Another store serves at this broker. */
  served(): void
  /** None does. */
  free(): void
  /** The broker cannot be reached; it is tried again. */
  away(cause: StateStoreError): void
  /** It cannot be found out. */
  failed(cause: StateStoreError): void
}

/**
 * Looks, as a client among others, whether a store serves at a broker: asks it again and again. The broker says at once that
 * nobody listens; of one that listens and does not answer it takes a few seconds to be sure.
 */
export class Sentry {
  readonly #store: StateStore
  readonly #clock: Clock
  readonly #events: SentryEvents
  #silences = 0
  #most: number
  readonly #status: Subscription
  #request: Subscription | undefined
  #cancel: () => void = () => undefined

  /** @param isKnown - whether there was another store just now, which may need a moment to answer */
  constructor(store: StateStore, clock: Clock, events: SentryEvents, isKnown = false) {
    this.#most = isKnown ? SILENCES.heard : SILENCES.never
    this.#store = store
    this.#clock = clock
    this.#events = events
    this.#status = store.status$.subscribe(status => {
      if (status.state === 'reconnecting') events.away(status.cause)
    })
    this.#ask()
  }

  /** Looks no more. */
  async stop(): Promise<void> {
    this.#cancel()
    this.#status.unsubscribe()
    this.#request?.unsubscribe()
    await this.#store.close()
  }

  #ask(): void {
    this.#request = this.#store
      .key(KEY)
      .get({ timeout: TIMEOUT })
      .subscribe({
        next: () => this.#served(),
        error: error => this.#failed(error),
      })
  }

  #served(): void {
    this.#silences = 0
    this.#most = SILENCES.heard
    this.#events.served()
    this.#cancel = this.#clock.schedule(PAUSE, () => this.#ask())
  }

  #failed(error: unknown): void {
    if (!(error instanceof StateStoreError)) throw error
    if (error.code === 'no-store') this.#events.free()
    else if (error.code === 'timeout') this.#silent(error)
    else if (error instanceof ClosedError)
      this.#events.failed(error.cause instanceof StateStoreError ? error.cause : error)
    else if (error instanceof RequestRejectedError && error.status === NOT_AUTHORIZED) this.#events.failed(error)
    // Whatever it says, somebody said it.
    else this.#served()
  }

  #silent({ cause }: StateStoreError): void {
    // Without a connection nobody could be heard.
    if (cause === undefined) this.#silences++
    if (this.#silences >= this.#most) this.#events.free()
    else this.#ask()
  }
}
