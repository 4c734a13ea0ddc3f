import { Observable } from 'rxjs'
import type { Publish } from '../../core/mqtt5/packets.js'
import { noMatchingSubscribers } from '../../core/mqtt5/reason-codes.js'
import { isPublishable, MAX_PUBLISHABLE_BYTES } from '../../core/mqtt5/topic.js'
import { randomBytes, sameBytes, toHex, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ConnectionRefusedError, type StateStoreError } from '../../core/util/errors.js'
import type { ConnectionInfo, InboundMessage, ServiceSession } from '../session/session.js'
import { type DesiredSubscription, SubscribeRetry } from '../session/subscribe-retry.js'

export interface TopicEvents {
  /**
   * Called for a retained message, or a live one with its retain flag. @param number - set for messages of this sync
   */
  received(topic: string, payload: Uint8Array, number: number | undefined): void
  /** Called when a connection has started and retained messages follow. */
  connected(): void
  synced(): void
  lost(cause: StateStoreError): void
  /** Called for a refused subscription or a failed renewal of credentials, which are retried. */
  failed(error: StateStoreError): void
  /** Called last, without a cause after `close`. */
  closed(cause: StateStoreError | undefined): void
}

/** User property that contains the id of the sync and the message number. */
const ORIGIN = 'rx-statestore-retained'

export class TopicClient {
  readonly #session: ServiceSession
  readonly #filter: string
  readonly #events: TopicEvents
  readonly #subscribeRetry: SubscribeRetry
  readonly #id = toHex(randomBytes(8)).toLowerCase()
  /** A message to this topic, published after SUBSCRIBE, arrives after the retained messages. */
  readonly #marker = `rx-statestore/v1/retained/${this.#id}`
  #markerPayload = utf8('')
  #markerCount = 0
  #maximumPacketSize = Number.POSITIVE_INFINITY
  #isSynced = false
  #resolveClosed: () => void = () => undefined
  #isClosed = false
  #cause: StateStoreError | undefined

  constructor(session: ServiceSession, filter: string, clock: Clock, events: TopicEvents) {
    this.#session = session
    this.#filter = filter
    this.#events = events
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    session.open({
      connected: info => this.#onConnected(info),
      disconnected: cause => {
        this.#subscribeRetry.cancel()
        events.lost(cause)
      },
      failed: error => events.failed(error),
      closed: cause => this.#onClosed(cause),
      message: message => this.#onMessage(message),
    })
  }

  /** Publishes a retained message. Completes on PUBACK, and never if the connection is lost first. */
  publish(topic: string, payload: Uint8Array, number: number): Observable<never> {
    return new Observable(subscriber => {
      this.#session.publish(
        this.#createMessage(topic, payload, number),
        refusal => {
          if (refusal === undefined || refusal.status === noMatchingSubscribers) subscriber.complete()
          else subscriber.error(refusal)
        },
        true,
      )
    })
  }

  close(): Promise<void> {
    this.#subscribeRetry.cancel()
    if (this.#isClosed) return Promise.resolve()
    return new Promise(resolve => {
      this.#resolveClosed = resolve
      this.#session.close()
    })
  }

  validatePublish(topic: string, payload: Uint8Array, number: number, maxLevels: number): ArgumentError | undefined {
    if (!isPublishable(topic, maxLevels))
      return new ArgumentError(
        `The key of topic ${JSON.stringify(topic.slice(0, 200))} is not published, because brokers may close the connection ` +
          `over it: a topic may have ${maxLevels} levels (\`maxLevels\`), ${MAX_PUBLISHABLE_BYTES} bytes, and no wildcards or ` +
          'control characters; rename the key',
      )
    const size = this.#session.sizeOf(this.#createMessage(topic, payload, number))
    if (size <= this.#maximumPacketSize) return undefined
    return new ArgumentError(
      `The value for topic ${JSON.stringify(topic)} is not published: its packet has ${size} bytes, and the broker accepts at most ` +
        `${this.#maximumPacketSize}; write a smaller value, or raise the limit of the broker`,
    )
  }

  #createMessage(topic: string, payload: Uint8Array, number: number): Publish {
    return { topic, payload, userProperties: { [ORIGIN]: `${this.#id} ${number}` } }
  }

  #onConnected({ canRetain, maximumPacketSize = Number.POSITIVE_INFINITY }: ConnectionInfo): void {
    this.#maximumPacketSize = maximumPacketSize
    if (!canRetain)
      throw new ConnectionRefusedError('The broker does not support retained messages, which the sync requires')
    this.#isSynced = false
    this.#events.connected()
    let grantedCount = 0
    const each: Omit<DesiredSubscription, 'filter'> = {
      granted: () => {
        if (++grantedCount === 2) this.#publishMarker()
      },
      refused: (error, isPermanent) => {
        if (isPermanent) this.giveUp(error)
        else this.#events.failed(error)
      },
    }
    this.#subscribeRetry.subscribe(undefined, [
      { filter: this.#filter, ...each },
      { filter: this.#marker, ...each },
    ])
  }

  #publishMarker(): void {
    this.#markerPayload = utf8(String(++this.#markerCount))
    this.#session.publish({ topic: this.#marker, payload: this.#markerPayload, userProperties: {} }, refusal => {
      if (refusal !== undefined) this.giveUp(refusal)
    })
  }

  #onMessage({ topic, payload, retain, packetId, qos, userProperties }: InboundMessage): void {
    if (qos === 1 && packetId !== undefined) this.#session.acknowledge(packetId)
    if (topic === this.#marker) this.#onMarker(payload)
    else if (retain) this.#events.received(topic, payload, this.#numberOf(userProperties[ORIGIN]))
  }

  #onMarker(payload: Uint8Array): void {
    if (this.#isSynced || !sameBytes(payload, this.#markerPayload)) return
    this.#isSynced = true
    this.#events.synced()
  }

  #numberOf(origin: string | readonly string[] | undefined): number | undefined {
    const [id, number] = typeof origin === 'string' ? origin.split(' ') : []
    return id === this.#id ? Number(number) : undefined
  }

  giveUp(cause: StateStoreError): void {
    if (this.#isClosed) return
    this.#subscribeRetry.cancel()
    this.#cause = cause
    this.#session.close()
  }

  #onClosed(cause: StateStoreError | undefined): void {
    this.#isClosed = true
    this.#subscribeRetry.cancel()
    this.#resolveClosed()
    this.#events.closed(cause ?? this.#cause)
  }
}
