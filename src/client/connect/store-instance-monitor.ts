import { PROPERTY } from '../../core/protocol/properties.js'
import { AWAY, INSTANCE_TOPIC } from '../../core/protocol/topics.js'
import { displayText } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import type { InboundMessage, MqttSession } from '../session/session.js'
import { SubscribeRetry } from '../session/subscribe-retry.js'

interface StoreInstanceEvents {
  /**
   * Called when the store becomes unavailable while the connection is up, and when it is available again without its
   * earlier registrations.
   */
  changed(isAvailable: boolean): void
}

/**
 * Detects restarts of an attached store while the client stays connected to the broker. An attached store sends an
 * instance id in its responses; only then does the client subscribe to the topic that announces the start and stop of
 * the store. If the broker refuses that subscription, the client detects a restart later, by the id in the next
 * response.
 */
export class StoreInstanceMonitor {
  readonly #subscribeRetry: SubscribeRetry
  readonly #events: StoreInstanceEvents
  #instanceId: string | undefined
  #isAway = false
  #hasSubscribed = false
  #hasSeenInstance = false

  constructor(session: MqttSession, clock: Clock, events: StoreInstanceEvents) {
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    this.#events = events
  }

  get hasSeenInstance(): boolean {
    return this.#hasSeenInstance
  }

  onResponse({ userProperties }: InboundMessage): void {
    const instanceId = userProperties[PROPERTY.instance]
    if (typeof instanceId !== 'string') return
    this.#hasSeenInstance = true
    this.#observe(instanceId)
    this.#subscribe()
  }

  /** Handles a message of {@link INSTANCE_TOPIC}: an instance id, or {@link AWAY}. */
  onAnnouncement({ payload }: InboundMessage): void {
    const instanceId = displayText(payload)
    if (instanceId !== '' && instanceId !== AWAY) this.#observe(instanceId)
    else if (!this.#isAway) {
      this.#isAway = true
      // The message may be due to the subscription of an earlier client on this connection or session, so this client
      // subscribes as well.
      this.#subscribe()
      this.#events.changed(false)
    }
  }

  disconnected(): void {
    this.#subscribeRetry.cancel()
    this.#instanceId = undefined
    this.#isAway = false
    this.#hasSubscribed = false
  }

  #subscribe(): void {
    if (this.#hasSubscribed) return
    this.#hasSubscribed = true
    this.#subscribeRetry.subscribe(undefined, [
      { filter: INSTANCE_TOPIC, granted: () => undefined, refused: () => undefined },
    ])
  }

  #observe(instanceId: string): void {
    const isKnown = instanceId === this.#instanceId && !this.#isAway
    const isFirst = this.#instanceId === undefined && !this.#isAway
    this.#instanceId = instanceId
    this.#isAway = false
    if (!isKnown && !isFirst) this.#events.changed(true)
  }
}
