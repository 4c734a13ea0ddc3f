import * as REASON from '../../core/mqtt5/reason-codes.js'
import type { Clock } from '../../core/util/clock.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import { Timer } from '../../core/util/timer.js'
import type { MqttSession } from './session.js'

/** Refusals that no retry can change (MQTT 5.0, sections 2.4 and 3.9.3). */
const PERMANENT_REFUSALS = new Set<number>([
  REASON.notAuthorized,
  REASON.topicFilterInvalid,
  REASON.wildcardSubscriptionsNotSupported,
])

export const wildcardsNotSupported = (): RequestRejectedError =>
  new RequestRejectedError(
    REASON.wildcardSubscriptionsNotSupported,
    'The broker does not support wildcard subscriptions, which watching keys requires; other requests work',
  )

export interface DesiredSubscription {
  readonly filter: string
  readonly granted: () => void
  readonly refused: (error: RequestRejectedError, isPermanent: boolean) => void
}

/** Subscribes on a connection, and retries refused filters with backoff unless the refusal is permanent. */
export class SubscribeRetry {
  readonly #session: Pick<MqttSession, 'subscribe'>
  readonly #retry: Timer
  /** The current set. Responses to earlier sets are ignored. */
  #desired: readonly DesiredSubscription[] | undefined

  constructor(session: Pick<MqttSession, 'subscribe'>, clock: Clock) {
    this.#session = session
    this.#retry = new Timer(clock)
  }

  /**
   * Replaces the current set by another one, subscribed in one SUBSCRIBE.
   *
   * @param subscriptionId - for all filters; `undefined` if the broker does not support identifiers
   */
  subscribe(subscriptionId: number | undefined, desired: readonly DesiredSubscription[], isRetry = false): void {
    this.#retry.cancel()
    if (!isRetry) this.#retry.reset()
    this.#desired = desired
    const filters = desired.map(({ filter }) => filter)
    this.#session.subscribe(filters, subscriptionId, reasonCodes => {
      if (this.#desired !== desired) return
      const retryable = this.#notify(desired, reasonCodes)
      // A callback may have cancelled or replaced the set.
      if (retryable.length === 0 || this.#desired !== desired) return
      this.#retry.retry(() => this.subscribe(subscriptionId, retryable, true))
    })
  }

  cancel(): void {
    this.#retry.cancel()
    this.#desired = undefined
  }

  /** Notifies each subscription of its reason code. Returns the subscriptions to retry. */
  #notify(desired: readonly DesiredSubscription[], reasonCodes: readonly number[]): DesiredSubscription[] {
    const retryable: DesiredSubscription[] = []
    for (const [i, each] of desired.entries()) {
      if (this.#desired !== desired) return retryable
      const reasonCode = reasonCodes[i] ?? REASON.FIRST_FAILURE
      if (reasonCode < REASON.FIRST_FAILURE) each.granted()
      else {
        const isPermanent = PERMANENT_REFUSALS.has(reasonCode)
        if (!isPermanent) retryable.push(each)
        each.refused(
          new RequestRejectedError(reasonCode, `The broker rejected the subscription to ${each.filter}`),
          isPermanent,
        )
      }
    }
    return retryable
  }
}
