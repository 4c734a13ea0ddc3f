import type { Incoming } from '../../core/mqtt5/packets.js'
import type { Client, PublishRejection } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { INVOKE_TOPIC, isAllowedResponseTopic, RESERVED_RESPONSE_PREFIX } from '../../core/protocol/topics.js'
import { toHex, utf8 } from '../../core/util/bytes.js'

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
  refuse(client: Client, message: Incoming): PublishRejection | undefined {
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

const RESPONSES = '/services/statestore/'
const LONGEST_TOPIC = 65_535

/** What clients may do with topics that are not the store's own. */
export interface TopicRights {
  mayPublish(connection: Client, topic: string): boolean
  maySubscribe(connection: Client, filter: string): boolean
}

/** Why a client may not publish there, or `undefined` if it may. Notifications and responses come from the store alone. */
export function publishRefusal(topic: string): string | undefined {
  if (!isTopicName(topic)) return 'this is not a topic name'
  if (topic.startsWith('$')) return 'topics that begin with $ belong to the broker'
  if (topic.startsWith(RESERVED_RESPONSE_PREFIX)) return 'only the state store publishes notifications'
  return isResponseTopic(topic) ? 'only the state store publishes responses' : undefined
}

/** Why the store may not answer a client there, or `undefined` if it may. */
export function responseRefusal(clientId: string, topic: string): string | undefined {
  const own = isResponseTopic(topic) && isOwn(clientId, topic.slice('clients/'.length), RESPONSES)
  if (own) return isTopicName(topic) ? undefined : 'this is not a topic name'
  return isResponseTopic(topic) ? 'this is the response topic of another client' : publishRefusal(topic)
}

/** {@link responseRefusal} of many requests: most clients ask for one topic again and again. */
export class ResponseTopics {
  readonly #allowed = new WeakMap<object, string>()

  refusal(client: { readonly clientId: string }, topic: string): string | undefined {
    if (this.#allowed.get(client) === topic) return undefined
    const refusal = responseRefusal(client.clientId, topic)
    if (refusal === undefined) this.#allowed.set(client, topic)
    return refusal
  }
}

/** Whether a client may subscribe to a filter: to the store's answers and notifications only to its own. */
export function maySubscribe(clientId: string, filter: string): boolean {
  if (filter === INVOKE_TOPIC) return false
  const prefix = `${RESERVED_RESPONSE_PREFIX}/`
  // The .NET client subscribes with its plain client id; that delivers nothing, but must not fail.
  if (filter.startsWith(prefix)) return isOwn(clientId, filter.slice(prefix.length), '/')
  return !isResponseTopic(filter) || isOwn(clientId, filter.slice('clients/'.length), RESPONSES)
}

/**
 * Whether a filter is for the store's answers or notifications to this client, to which it needs no right besides those to
 * keys. An id with wildcards has no filter that is for itself alone.
 */
export function isOwnStoreTopic(clientId: string, filter: string): boolean {
  if (/[+#]/.test(clientId)) return false
  const notifications = `${RESERVED_RESPONSE_PREFIX}/`
  if (filter.startsWith(notifications)) return isOwn(clientId, filter.slice(notifications.length), '/')
  return filter.startsWith('clients/') && isOwn(clientId, filter.slice('clients/'.length), RESPONSES)
}

/** Whether it is the topic of some client's answers; other services answer below `clients/` too. */
export const isResponseTopic = (topic: string): boolean => topic.startsWith('clients/') && topic.includes(RESPONSES)

// The Go client has its response topic below the Base16 form of its id.
function isOwn(clientId: string, path: string, rest: string): boolean {
  if (path.startsWith(`${clientId}${rest}`)) return true
  const hex = toHex(utf8(clientId))
  return path.slice(0, hex.length).toUpperCase() === hex.toUpperCase() && path.startsWith(rest, hex.length)
}

/** MQTT 5.0, section 4.7.3: at least one character, no NUL, at most 65,535 bytes. */
export const isTopicName = (topic: string): boolean =>
  // One UTF-16 unit becomes three bytes of UTF-8 at most.
  topic !== '' && !topic.includes('\0') && (3 * topic.length <= LONGEST_TOPIC || utf8(topic).length <= LONGEST_TOPIC)
