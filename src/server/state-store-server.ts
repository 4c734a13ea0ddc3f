import type { Subject } from 'rxjs'
import type { Clock } from '../clock.js'
import type { Change, Engine, Restoration } from '../engine/engine.js'
import type { Restored } from '../engine/restore.js'
import { CONTENT_TYPE } from '../protocol/properties.js'
import type { Dialect, Reply } from '../protocol/replies.js'
import { INVOKE_TOPIC, isAllowedResponseTopic } from '../protocol/topics.js'
import { maySubscribe, publishRefusal, ResponseTopics } from './access.js'
import type { Connection, Content, Outgoing } from './connection.js'
import { Notifier } from './notifier.js'
import type { StateStoreService, UserProperties } from './service.js'

export type { Connection, Content, Outgoing } from './connection.js'

/** A PUBLISH on its way in or out, without the packet around it. */
export interface Message {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly responseTopic?: string | undefined
  readonly correlationData?: Uint8Array | undefined
  readonly userProperties: UserProperties
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
  readonly #responseTopics = new ResponseTopics()
  readonly #notifier: Notifier
  readonly #requests$: Subject<RequestReport>
  #cancelExpiry: (() => void) | undefined
  #armedFor: number | undefined
  #paused = false

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
    this.#notifier = new Notifier(options.dialect, options.notifications === 'subscribed')
  }

  /** Why a PUBLISH must not be accepted, if so. A forbidden response topic ends the connection as well. */
  refuse(connection: Connection, message: Message): Refusal | undefined {
    const reason = this.#objection(connection, message)
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
    this.#respond(connection, responseTopic, {
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

  /** Stores records of a dump and tells watchers; see {@link Engine.restore}. */
  restore(items: Iterable<Restored>, replace: boolean): Restoration {
    const now = this.#options.clock.now()
    this.#notify(this.#engine.expire(now))
    const restoration = this.#engine.restore(items, now, replace)
    this.#notify(restoration.changes)
    this.#armExpiry()
    return restoration
  }

  /** Lets nothing expire of itself any more. */
  pause(): void {
    this.#paused = true
    this.#armExpiry()
  }

  /** Lets expire what is due by now, and goes on. */
  resume(): void {
    this.#paused = false
    this.#armExpiry()
  }

  #objection(connection: Connection, { topic, responseTopic, correlationData }: Message): string | undefined {
    if (topic !== INVOKE_TOPIC) return publishRefusal(topic)
    if (responseTopic === undefined) return 'a state store request needs a response topic'
    if (!isAllowedResponseTopic(responseTopic)) return 'this response topic is not allowed in a state store request'
    if (correlationData === undefined) return 'a state store request needs correlation data'
    return this.#responseTopics.refusal(connection, responseTopic)
  }

  #respond(connection: Connection, topic: string, response: Content): void {
    if (connection.subscribes(topic)) connection.deliver(topic, response)
    else this.#options.publish({ topic, ...response })
  }

  #notify(changes: readonly Change[]): void {
    for (const change of changes) {
      this.counters.notifications += this.#notifier.notify(change, this.#engine.watchersOf(change.key))
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
    const deadline = this.#paused ? undefined : this.#engine.nextDeadline
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
