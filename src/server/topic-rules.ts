import type { Incoming } from '../packet/publish.js'
import * as REASON from '../packet/reason-codes.js'
import type { Client, Refusal } from '../peer/client.js'
import { INVOKE_TOPIC, isAllowedResponseTopic } from '../protocol/topics.js'
import { isResponseTopic, maySubscribe, publishRefusal, ResponseTopics, type TopicRights } from './access.js'

/** What clients may publish and subscribe to: by the rules of the store, and by the rights of the client. */
export class TopicRules {
  readonly #rights: TopicRights | undefined
  readonly #responseTopics = new ResponseTopics()

  /** @param rights - what clients may do with other topics than the store's; without them everything */
  constructor(rights: TopicRights | undefined) {
    this.#rights = rights
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
    if (!maySubscribe(client.clientId, filter)) return false
    return this.#rights?.maySubscribe(client, filter) ?? true
  }

  #objection(client: Client, { topic, responseTopic, correlationData }: Incoming): string | undefined {
    if (topic !== INVOKE_TOPIC) return publishRefusal(topic) ?? this.#withoutRight(client, topic)
    if (responseTopic === undefined) return 'a state store request needs a response topic'
    if (!isAllowedResponseTopic(responseTopic)) return 'this response topic is not allowed in a state store request'
    if (correlationData === undefined) return 'a state store request needs correlation data'
    const refusal = this.#responseTopics.refusal(client, responseTopic)
    if (refusal !== undefined || this.#rights === undefined || isResponseTopic(responseTopic)) return refusal
    return this.#withoutRight(client, responseTopic)
  }

  #withoutRight(client: Client, topic: string): string | undefined {
    const allowed = this.#rights?.mayPublish(client, topic) ?? true
    return allowed ? undefined : 'no rule lets this client publish there'
  }
}
