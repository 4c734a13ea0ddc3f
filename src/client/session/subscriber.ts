import type { Clock } from '../../core/util/clock.js'
import type { MqttJsClient, MqttJsStream } from './mqttjs-client.js'
import { streamOf, subscribedAnew } from './mqttjs-insides.js'

/** How long the answer to SUBSCRIBE may take before the connection is given up, ms. */
const SUBACK_TIMEOUT = 10_000

interface SubscribeAnswer {
  readonly done: (reasonCodes: readonly number[]) => void
  readonly late: (stream: MqttJsStream) => void
}

/** Subscribes over the connection of an mqtt.js client, and does not wait for ever for the answer. */
export class Subscriber {
  readonly #client: MqttJsClient
  readonly #clock: Clock
  readonly #asPublished: boolean
  readonly #filters = new Set<string>()

  /** @param asPublished - whether messages say that they are retained from now on */
  constructor(client: MqttJsClient, clock: Clock, asPublished: boolean) {
    this.#client = client
    this.#clock = clock
    this.#asPublished = asPublished
  }

  /**
   * Subscribes, in the place of what was subscribed before.
   *
   * @param answer - `done` is called with what the broker said of each filter, `late` with the stream over which no answer
   *   came in time
   */
  subscribe(filters: readonly string[], subscriptionId: number | undefined, { done, late }: SubscribeAnswer): void {
    for (const filter of filters) this.#filters.add(filter)
    const stream = streamOf(this.#client)
    const cancel = this.#clock.schedule(SUBACK_TIMEOUT, () => late(stream))
    stream.once('close', cancel)
    const options = subscriptionId === undefined ? {} : { properties: { subscriptionIdentifier: subscriptionId } }
    this.#client.subscribe(subscribedAnew(filters, this.#asPublished), options, (_error, _granted, packet) => {
      cancel()
      stream.off('close', cancel)
      if (packet !== undefined) done(packet.granted.map(Number))
    })
  }

  /** Ends subscriptions, if there is a connection. @param done - is told of the UNSUBACK */
  unsubscribe(filters: Iterable<string> = this.#filters, done = (): void => undefined): void {
    if (!this.#client.connected) return
    this.#client.unsubscribe(Array.from(filters), {}, error => {
      if (!error) done()
    })
  }
}
