import { backoff } from '../../core/util/backoff.js'
import type { Clock } from '../../core/util/clock.js'
import { RequestRejectedError } from '../../core/util/errors.js'
import type { MqttSession } from './session.js'

/** MQTT 5.0, section 3.9.3: reason codes from here on are refusals. */
const FIRST_REFUSAL = 128

/** MQTT 5.0, section 2.4. */
const WILDCARDS_NOT_SUPPORTED = 162

/** Refusals of a filter that no later attempt can mend (MQTT 5.0, section 3.9.3). */
const LASTING = new Set([
  135, // not authorized
  143, // topic filter invalid
  WILDCARDS_NOT_SUPPORTED,
])

/** Why a filter with a wildcard is not asked for at all, at a broker that says so in CONNACK. */
export const withoutWildcards = (): RequestRejectedError =>
  new RequestRejectedError(
    WILDCARDS_NOT_SUPPORTED,
    'The broker takes no subscriptions with wildcards, without which keys cannot be watched; other requests work',
  )

/** A filter to be subscribed, and who is told of it. */
export interface DesiredSubscription {
  readonly filter: string
  readonly granted: () => void
  /** `forGood`: it is not asked for again. */
  readonly refused: (error: RequestRejectedError, forGood: boolean) => void
}

/** Subscribes on a connection, and asks again, with ever longer pauses, for what a broker refuses that may change its mind. */
export class SubscribeRetry {
  readonly #session: Pick<MqttSession, 'subscribe'>
  readonly #clock: Clock
  #cancel: () => void = () => undefined
  /** What is asked for now; answers to anything else are too late. */
  #wanted: readonly DesiredSubscription[] | undefined

  constructor(session: Pick<MqttSession, 'subscribe'>, clock: Clock) {
    this.#session = session
    this.#clock = clock
  }

  /**
   * In place of what was asked for before, all in one SUBSCRIBE.
   *
   * @param subscriptionId - of all the filters, if the broker knows identifiers
   */
  ask(subscriptionId: number | undefined, wanted: readonly DesiredSubscription[], attempt = 1): void {
    this.#cancel()
    this.#wanted = wanted
    const filters = wanted.map(({ filter }) => filter)
    this.#session.subscribe(filters, subscriptionId, reasonCodes => {
      if (this.#wanted !== wanted) return
      const again = this.#answered(wanted, reasonCodes)
      // Who was told may have ended it.
      if (again.length === 0 || this.#wanted !== wanted) return
      this.#cancel = this.#clock.schedule(backoff(attempt), () => this.ask(subscriptionId, again, attempt + 1))
    })
  }

  /** The connection is gone, or nothing is wanted any more. */
  cancel(): void {
    this.#cancel()
    this.#wanted = undefined
  }

  /** Tells of each; returns what is to be asked for again. */
  #answered(wanted: readonly DesiredSubscription[], reasonCodes: readonly number[]): DesiredSubscription[] {
    const again: DesiredSubscription[] = []
    for (const [i, each] of wanted.entries()) {
      if (this.#wanted !== wanted) return again
      const reasonCode = reasonCodes[i] ?? FIRST_REFUSAL
      if (reasonCode < FIRST_REFUSAL) each.granted()
      else {
        const forGood = LASTING.has(reasonCode)
        if (!forGood) again.push(each)
        each.refused(
          new RequestRejectedError(reasonCode, `The broker refused the subscription to ${each.filter}`),
          forGood,
        )
      }
    }
    return again
  }
}
