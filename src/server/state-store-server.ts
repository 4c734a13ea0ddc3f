import type { Subject } from 'rxjs'
import type { Clock } from '../clock.js'
import type { Change, Engine } from '../engine/engine.js'
import { encodeNotification } from '../protocol/notifications.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION } from '../protocol/properties.js'
import type { Dialect, Reply } from '../protocol/replies.js'
import { INVOKE_TOPIC, isAllowedResponseTopic, notificationTopic } from '../protocol/topics.js'
import { isTopicName, maySubscribe, publishRefusal, responseRefusal } from './access.js'
import type { StateStoreService, UserProperties } from './service.js'

/** A PUBLISH on its way in or out, without the packet around it. */
export interface Message {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly responseTopic: string | undefined
  readonly correlationData: Uint8Array | undefined
  readonly userProperties: UserProperties
}

/** What the store sends. */
export interface Outgoing {
  readonly topic: string
  readonly payload: Uint8Array
  readonly correlationData?: Uint8Array
  readonly contentType: string
  readonly userProperties: Record<string, string>
}

/** A client's connection, as far as the store has to do with it. */
export interface Connection {
  readonly clientId: string
  /** Whether it is still open. */
  readonly open: boolean
  /** Whether one of its subscriptions matches the topic. */
  subscribes(topic: string): boolean
  /** Delivers to this connection, QoS 1. */
  deliver(message: Outgoing): void
}

/** Why a PUBLISH is refused; with `disconnect`, an MQTT 5 reason code, the connection ends as well. */
export interface Refusal {
  readonly reason: string
  readonly disconnect?: number
}

/** What happened to a request, for those who operate the store. */
export interface RequestReport {
  readonly clientId: string
  readonly payload: Uint8Array
  /** What the store answered, or `rejected` when it did not look at the request. */
  readonly outcome: Reply['type'] | 'rejected'
}

export interface StateStoreServerOptions {
  readonly dialect: Dialect
  /** `registered`: to whoever registered (as in the field); `subscribed`: only if it subscribed to the topic, too. */
  readonly notifications: 'registered' | 'subscribed'
  readonly clock: Clock
  /** Publishes to whoever subscribes to the topic, for responses to somewhere else than the requester. */
  publish(message: Outgoing): void
}

/** MQTT 5.0, section 2.4: Topic Name invalid. */
const TOPIC_NAME_INVALID = 144

/** Counts since the start. */
export interface Counters {
  requests: number
  errors: number
  notifications: number
}

/**
 * The state store at a broker: answers requests, tells watchers, deletes what expires. It knows connections and
 * messages but no broker.
 */
export class StateStoreServer {
  readonly counters: Counters = { requests: 0, errors: 0, notifications: 0 }
  readonly #engine: Engine<Connection>
  readonly #service: StateStoreService<Connection>
  readonly #options: StateStoreServerOptions
  readonly #requests$: Subject<RequestReport>
  #cancelExpiry: (() => void) | undefined
  #armedFor: number | undefined
  #closed = false

  constructor(
    engine: Engine<Connection>,
    service: StateStoreService<Connection>,
    requests$: Subject<RequestReport>,
    options: StateStoreServerOptions,
  ) {
    this.#engine = engine
    this.#service = service
    this.#requests$ = requests$
    this.#options = options
  }

  /** Why a PUBLISH must not be accepted, if so. A forbidden response topic ends the connection as well. */
  refuse(connection: Connection, message: Message): Refusal | undefined {
    const reason = this.#objection(connection.clientId, message)
    if (reason === undefined) return undefined
    const forbidden =
      message.topic === INVOKE_TOPIC && message.responseTopic && !isAllowedResponseTopic(message.responseTopic)
    return forbidden ? { reason, disconnect: TOPIC_NAME_INVALID } : { reason }
  }

  /** Whether a client may subscribe to a filter. */
  maySubscribe(connection: Connection, filter: string): boolean {
    return maySubscribe(connection.clientId, filter)
  }

  /** Takes a PUBLISH if it is a request to the store; then nobody else gets it. */
  take(connection: Connection, message: Message): boolean {
    if (message.topic !== INVOKE_TOPIC) return false
    const { responseTopic, correlationData } = message
    if (responseTopic === undefined || correlationData === undefined) return true
    const response = this.#service.handle(message, connection)
    // A last will is published when its connection is gone: it may change keys, but there is nobody to notify.
    if (!connection.open) this.#engine.watchers.drop(connection)
    this.#report(connection, message, response.reply)
    this.#respond(connection, {
      topic: responseTopic,
      payload: response.payload,
      correlationData,
      contentType: CONTENT_TYPE,
      userProperties: response.userProperties,
    })
    this.#notify(response.changes)
    this.#armExpiry()
    return true
  }

  /** Forgets a connection and its registrations. */
  drop(connection: Connection): void {
    this.#engine.watchers.drop(connection)
  }

  /** Stops the expiry timer. */
  close(): void {
    this.#closed = true
    this.#cancelExpiry?.()
    this.#cancelExpiry = undefined
    this.#armedFor = undefined
  }

  #objection(clientId: string, { topic, responseTopic, correlationData }: Message): string | undefined {
    if (topic !== INVOKE_TOPIC) return publishRefusal(topic)
    if (responseTopic === undefined) return 'a state store request needs a response topic'
    if (!isAllowedResponseTopic(responseTopic)) return 'this response topic is not allowed in a state store request'
    if (correlationData === undefined) return 'a state store request needs correlation data'
    return responseRefusal(clientId, responseTopic)
  }

  #respond(connection: Connection, response: Outgoing): void {
    if (connection.subscribes(response.topic)) connection.deliver(response)
    else this.#options.publish(response)
  }

  #notify(changes: readonly Change[]): void {
    for (const { key, notification, version } of changes) {
      const payload = encodeNotification(notification, this.#options.dialect)
      for (const watcher of this.#engine.watchersOf(key)) {
        const topic = notificationTopic(watcher.clientId, key)
        // A long key has a topic that MQTT cannot carry.
        if (!isTopicName(topic)) continue
        if (this.#options.notifications === 'subscribed' && !watcher.subscribes(topic)) continue
        this.counters.notifications++
        watcher.deliver({
          topic,
          payload,
          contentType: CONTENT_TYPE,
          userProperties: { [PROPERTY.timestamp]: String(version), [PROPERTY.protocolVersion]: PROTOCOL_VERSION },
        })
      }
    }
  }

  #report(connection: Connection, message: Message, reply: Reply | undefined): void {
    this.counters.requests++
    if (reply === undefined || reply.type === 'error') this.counters.errors++
    if (!this.#requests$.observed) return
    this.#requests$.next({
      clientId: connection.clientId,
      payload: message.payload,
      outcome: reply?.type ?? 'rejected',
    })
  }

  // One timer, for the earliest deadline of all keys.
  #armExpiry(): void {
    const deadline = this.#closed ? undefined : this.#engine.nextDeadline
    if (deadline === this.#armedFor) return
    this.#cancelExpiry?.()
    this.#armedFor = deadline
    this.#cancelExpiry =
      deadline === undefined
        ? undefined
        : this.#options.clock.schedule(deadline - this.#options.clock.now(), () => this.#expire())
  }

  #expire(): void {
    this.#armedFor = undefined
    this.#notify(this.#engine.expire(this.#options.clock.now()))
    this.#armExpiry()
  }
}
