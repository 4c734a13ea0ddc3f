import type { Incoming } from '../../core/mqtt5/packets.js'
import type { Client, Refusal } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { INVOKE_TOPIC, isAllowedResponseTopic } from '../../core/protocol/topics.js'
import { isResponseTopic, maySubscribe, publishRefusal, ResponseTopics, type TopicRights } from './access.js'

/** Somebody wanted something that is not for it. */
export type RefusedTopic = (client: Client, action: 'publish' | 'subscribe', topic: string) => void

/** What clients may publish and subscribe to: by the rules of the store, and by the rights of the client. */
export class TopicRules {
  readonly #rights: TopicRights | undefined
  readonly #refused: RefusedTopic
  readonly #responseTopics = new ResponseTopics()

  /**
   * @param rights - what clients may do with other topics than the store's; without them everything
   * @param refused - is told what no client may do, or not this one, whatever its rights
   */
  constructor(rights: TopicRights | undefined, refused: RefusedTopic = () => undefined) {
    this.#rights = rights
    this.#refused = refused
  }

  /** Why a PUBLISH must not be accepted, if so. A forbidden response topic ends the connection as well. */
  refuse(client: Client, message: Incoming): Refusal | undefined {
    const reason = this.#objection(client, message)
    if (reason === undefined) return undefined
    const forbidden =
      message.topic === INVOKE_TOPIC && message.responseTopic && !isAllowedResponseTopic(message.responseTopic)
    return forbidden ? { reason, disconnect: REASON.topicNameInvalid } : { reason }
  }

  /** Whether a client may subscribe to a filter. */
  maySubscribe(client: Client, filter: string): boolean {
    if (!maySubscribe(client.clientId, filter)) {
      this.#refused(client, 'subscribe', filter)
      return false
    }
    return this.#rights?.maySubscribe(client, filter) ?? true
  }

  #objection(client: Client, { topic, responseTopic, correlationData }: Incoming): string | undefined {
    if (topic !== INVOKE_TOPIC)
      return this.#told(client, topic, publishRefusal(topic)) ?? this.#withoutRight(client, topic)
    if (responseTopic === undefined) return 'a state store request needs a response topic'
    if (!isAllowedResponseTopic(responseTopic)) {
      const refusal = 'this response topic is not allowed in a state store request'
      return this.#told(client, responseTopic, refusal)
    }
    if (correlationData === undefined) return 'a state store request needs correlation data'
    const refusal = this.#told(client, responseTopic, this.#responseTopics.refusal(client, responseTopic))
    if (refusal !== undefined || this.#rights === undefined || isResponseTopic(responseTopic)) return refusal
    return this.#withoutRight(client, responseTopic)
  }

  #told(client: Client, topic: string, refusal: string | undefined): string | undefined {
    if (refusal !== undefined) this.#refused(client, 'publish', topic)
    return refusal
  }

  #withoutRight(client: Client, topic: string): string | undefined {
    const allowed = this.#rights?.mayPublish(client, topic) ?? true
    return allowed ? undefined : 'no rule lets this client publish there'
  }
}
