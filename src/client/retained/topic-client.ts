import { Observable } from 'rxjs'
import type { Publish } from '../../core/mqtt5/packets.js'
import { isPublishable, MAX_PUBLISHABLE_BYTES } from '../../core/mqtt5/topic.js'
import { randomBytes, sameBytes, toHex, utf8 } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError, ConnectionRefusedError, type StateStoreError } from '../../core/util/errors.js'
import type { ConnectionInfo, InboundMessage, ServiceSession } from '../session/session.js'
import { type DesiredSubscription, SubscribeRetry } from '../session/subscribe-retry.js'

/** What it tells. */
export interface TopicEvents {
  /** A retained message, or one that is retained from now on. @param number - if this sync has published it */
  heard(topic: string, payload: Uint8Array, number: number | undefined): void
  /** A connection has begun; what was retained before comes now. */
  connected(): void
  /** All of that has come. */
  synced(): void
  lost(cause: StateStoreError): void
  /** Something was refused that is asked for again. */
  refused(error: StateStoreError): void
  /** For good; without a cause because it was closed. */
  closed(cause: StateStoreError | undefined): void
}

/** Number of a message of ours, behind the id of the sync. */
const ORIGIN = 'rx-statestore-retained'
/** MQTT 5.0, section 3.4.2.1: nobody has subscribed to it; it is retained all the same. */
const NO_MATCHING_SUBSCRIBERS = 16

/** The topics of a sync, at their broker. */
export class TopicClient {
  readonly #session: ServiceSession
  readonly #filter: string
  readonly #events: TopicEvents
  readonly #subscribeRetry: SubscribeRetry
  readonly #id = toHex(randomBytes(8)).toLowerCase()
  /** What is published behind a SUBSCRIBE comes back behind what was retained. */
  readonly #marker = `rx-statestore/v1/retained/${this.#id}`
  #mark = utf8('')
  #marks = 0
  #maximumPacketSize = Number.POSITIVE_INFINITY
  #isSynced = false
  #whenClosed: () => void = () => undefined
  #isClosed = false
  /** Why it gave up. */
  #cause: StateStoreError | undefined

  constructor(session: ServiceSession, filter: string, clock: Clock, events: TopicEvents) {
    this.#session = session
    this.#filter = filter
    this.#events = events
    this.#subscribeRetry = new SubscribeRetry(session, clock)
    session.open({
      connected: info => this.#connected(info),
      disconnected: cause => {
        this.#subscribeRetry.cancel()
        events.lost(cause)
      },
      closed: cause => this.#closed(cause),
      message: message => this.#received(message),
    })
  }

  /** Publishes, retained; completes when the broker has it. It never does when the connection is lost first. */
  publish(topic: string, payload: Uint8Array, number: number): Observable<never> {
    return new Observable(subscriber => {
      this.#session.publish(
        this.#messageOf(topic, payload, number),
        refusal => {
          if (refusal === undefined || refusal.status === NO_MATCHING_SUBSCRIBERS) subscriber.complete()
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
      this.#whenClosed = resolve
      this.#session.close()
    })
  }

  /** Why a message is not to be published at all; `undefined` if nothing is known against it. */
  objectionTo(topic: string, payload: Uint8Array, number: number, maxLevels: number): ArgumentError | undefined {
    if (!isPublishable(topic, maxLevels))
      return new ArgumentError(
        `The key of topic ${JSON.stringify(topic.slice(0, 200))} is not published, as brokers may end the connection over ` +
          `it: a topic may have ${maxLevels} levels (\`maxLevels\`), ${MAX_PUBLISHABLE_BYTES} bytes, and no wildcards or ` +
          'control characters; give the key another name',
      )
    const size = this.#session.sizeOf(this.#messageOf(topic, payload, number))
    if (size <= this.#maximumPacketSize) return undefined
    return new ArgumentError(
      `The value for topic ${JSON.stringify(topic)} is not published: it takes ${size} bytes, and the broker takes packets ` +
        `of ${this.#maximumPacketSize} bytes; write less, or let the broker take more`,
    )
  }

  #messageOf(topic: string, payload: Uint8Array, number: number): Publish {
    return { topic, payload, userProperties: { [ORIGIN]: `${this.#id} ${number}` } }
  }

  #connected({ canRetain: retain, maximumPacketSize = Number.POSITIVE_INFINITY }: ConnectionInfo): void {
    this.#maximumPacketSize = maximumPacketSize
    if (!retain)
      throw new ConnectionRefusedError('The broker keeps no retained messages, so that there is nothing to carry')
    this.#isSynced = false
    this.#events.connected()
    let granted = 0
    const each: Omit<DesiredSubscription, 'filter'> = {
      granted: () => {
        if (++granted === 2) this.#sendMark()
      },
      refused: (error, forGood) => {
        if (forGood) this.giveUp(error)
        else this.#events.refused(error)
      },
    }
    this.#subscribeRetry.subscribe(undefined, [
      { filter: this.#filter, ...each },
      { filter: this.#marker, ...each },
    ])
  }

  #sendMark(): void {
    this.#mark = utf8(String(++this.#marks))
    this.#session.publish({ topic: this.#marker, payload: this.#mark, userProperties: {} }, refusal => {
      if (refusal !== undefined) this.giveUp(refusal)
    })
  }

  #received({ topic, payload, retain, packetId, qos, userProperties }: InboundMessage): void {
    if (qos === 1 && packetId !== undefined) this.#session.acknowledge(packetId)
    if (topic === this.#marker) this.#marked(payload)
    else if (retain) this.#events.heard(topic, payload, this.#numberOf(userProperties[ORIGIN]))
  }

  #marked(payload: Uint8Array): void {
    if (this.#isSynced || !sameBytes(payload, this.#mark)) return
    this.#isSynced = true
    this.#events.synced()
  }

  #numberOf(origin: string | readonly string[] | undefined): number | undefined {
    const [id, number] = typeof origin === 'string' ? origin.split(' ') : []
    return id === this.#id ? Number(number) : undefined
  }

  /** Ends it for good. */
  giveUp(cause: StateStoreError): void {
    if (this.#isClosed) return
    this.#subscribeRetry.cancel()
    this.#cause = cause
    this.#session.close()
  }

  #closed(cause: StateStoreError | undefined): void {
    this.#isClosed = true
    this.#subscribeRetry.cancel()
    this.#whenClosed()
    this.#events.closed(cause ?? this.#cause)
  }
}
