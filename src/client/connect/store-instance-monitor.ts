import { PROPERTY } from '../../core/protocol/properties.js'
import { AWAY, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { displayText } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { InboundMessage, MqttSession } from '../session/session.js'
import { SubscribeRetry } from '../session/subscribe-retry.js'

/** What it tells. */
interface LifeEvents {
  /**
   * The store is away: its answers and notifications do not come, though the connection is there. Or it is back, and knows
   * no registrations of before.
   */
  changed(isBack: boolean): void
}

/**
 * A store that is not part of its broker may go and come while a client's connection stays. Such a store names its life in
 * its answers, and only then is the topic subscribed where it says that it goes or has come; other stores are asked nothing.
 * A broker that does not grant that subscription leaves the answers, which tell of another life as well, only later.
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

  /** Whether an answer ever named a life, on this connection or before. */
  get isNamed(): boolean {
    return this.#isNamed
  }

  /** Takes an answer of the store. */
  answered({ userProperties }: InboundMessage): void {
    const life = userProperties[PROPERTY.life]
    if (typeof life !== 'string') return
    this.#isNamed = true
    this.#heard(life)
    this.#ask()
  }

  /** Takes a message of {@link LIFE_TOPIC}: a life, or that it is {@link AWAY}, for a store that is away. */
  announced({ payload }: InboundMessage): void {
    const life = displayText(payload)
    if (life !== '' && life !== AWAY) this.#heard(life)
    else if (!this.#away) {
      this.#away = true
      // An earlier client on this connection, or in this session, may have asked for it and not do so any more.
      this.#ask()
      this.#events.changed(false)
    }
  }

  /** The connection is gone. */
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
