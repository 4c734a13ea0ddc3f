import { PROPERTY } from '../../core/protocol/properties.js'
import { AWAY, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { displayText } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { InboundMessage, MqttSession } from '../session/session.js'
import { SubscribeRetry } from '../session/subscribe-retry.js'

interface LifeEvents {
  /**
   * The store has become unavailable although the connection is up, or is available again without its earlier
   * registrations.
   */
  changed(isBack: boolean): void
}

/**
 * Detects restarts of an attached store, which can happen while the client stays connected to the broker. Such a store
 * sends an instance id in its responses; only then does the client subscribe to the topic that announces its start and
 * stop. If the broker refuses that subscription, the ids in responses reveal the restart, only later.
 */
export class StoreInstanceMonitor {
  readonly #subscribeRetry: SubscribeRetry
  readonly #events: LifeEvents
  #life: string | undefined
  #away = false
  #asked = false
  #isNamed = false

  constructor(session: MqttSession, clock: Clock, events: LifeEvents) {
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#events = events
  }

  /** Whether a response ever contained an instance id. */
  get isNamed(): boolean {
    return this.#isNamed
  }

  answered({ userProperties }: InboundMessage): void {
    const life = userProperties[PROPERTY.life]
    if (typeof life !== 'string') return
    this.#isNamed = true
    this.#heard(life)
    this.#ask()
  }

  /** Handles a message of {@link LIFE_TOPIC}: an instance id, or {@link AWAY}. */
  announced({ payload }: InboundMessage): void {
    const life = displayText(payload)
    if (life !== '' && life !== AWAY) this.#heard(life)
    else if (!this.#away) {
      this.#away = true
      // An earlier client on this connection or session may have caused the subscription; subscribe for this client.
      this.#ask()
      this.#events.changed(false)
    }
  }

  disconnected(): void {
    this.#subscribeRetry.cancel()
    this.#life = undefined
    this.#away = false
    this.#asked = false
  }

  #ask(): void {
    if (this.#asked) return
    this.#asked = true
    this.#subscribeRetry.subscribe(undefined, [
      { filter: LIFE_TOPIC, granted: () => undefined, refused: () => undefined },
    ])
  }

  #heard(life: string): void {
    const isKnown = life === this.#life && !this.#away
    const isFirst = this.#life === undefined && !this.#away
    this.#life = life
    this.#away = false
    if (!isKnown && !isFirst) this.#events.changed(true)
  }
}
