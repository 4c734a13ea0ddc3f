import type { Incoming } from '../../core/mqtt5/packets.js'
import type { Client, PublishRejection } from '../../core/mqtt5/peer.js'
import * as REASON from '../../core/mqtt5/reason-codes.js'
import { INVOKE_TOPIC, isAllowedResponseTopic, RESERVED_RESPONSE_PREFIX } from '../../core/protocol/topics.js'
import { toHex, utf8 } from '../../core/util/bytes.js'

/** Called when a client uses a topic or filter that the store reserves. */
export type TopicRejectionListener = (client: Client, action: 'publish' | 'subscribe', topic: string) => void

/**
 * Decides to which topics clients may publish and subscribe, by the rules of the store and the client's rights.
 */
export class TopicRules {
  readonly #rights: TopicRights | undefined
  readonly #onRejected: TopicRejectionListener
  readonly #responseTopics = new ResponseTopics()

  /**
   * @param rights - access rights to topics other than the store's; default: access to all topics
   * @param onRejected - called for attempts to use reserved topics, regardless of the client's rights
   */
  constructor(rights: TopicRights | undefined, onRejected: TopicRejectionListener = () => undefined) {
    this.#rights = rights
    this.#onRejected = onRejected
  }

  /**
   * Returns why a PUBLISH is rejected, or `undefined` if it is permitted. A forbidden response topic also ends the
   * connection.
   */
  checkPublish(client: Client, message: Incoming): PublishRejection | undefined {
    const reason = this.#publishRejection(client, message)
    if (reason === undefined) return undefined
    const forbidden =
      message.topic === INVOKE_TOPIC && message.responseTopic && !isAllowedResponseTopic(message.responseTopic)
    return forbidden ? { reason, disconnect: REASON.topicNameInvalid } : { reason }
  }

  maySubscribe(client: Client, filter: string): boolean {
    if (!maySubscribe(client.clientId, filter)) {
      this.#onRejected(client, 'subscribe', filter)
      return false
    }
    return this.#rights?.maySubscribe(client, filter) ?? true
  }

  #publishRejection(client: Client, { topic, responseTopic, correlationData }: Incoming): string | undefined {
    if (topic !== INVOKE_TOPIC)
      return this.#reportRejection(client, topic, publishRejection(topic)) ?? this.#checkRight(client, topic)
    if (responseTopic === undefined) return 'a state store request requires a response topic'
    if (!isAllowedResponseTopic(responseTopic)) {
      const rejection = 'this response topic is not allowed in a state store request'
      return this.#reportRejection(client, responseTopic, rejection)
    }
    if (correlationData === undefined) return 'a state store request requires correlation data'
    const rejection = this.#reportRejection(
      client,
      responseTopic,
      this.#responseTopics.rejectionOf(client, responseTopic),
    )
    if (rejection !== undefined || this.#rights === undefined || isResponseTopic(responseTopic)) return rejection
    return this.#checkRight(client, responseTopic)
  }

  #reportRejection(client: Client, topic: string, rejection: string | undefined): string | undefined {
    if (rejection !== undefined) this.#onRejected(client, 'publish', topic)
    return rejection
  }

  #checkRight(client: Client, topic: string): string | undefined {
    const allowed = this.#rights?.mayPublish(client, topic) ?? true
    return allowed ? undefined : 'no policy rule permits this client to publish to this topic'
  }
}

const RESPONSE_PATH = '/services/statestore/'
const MAX_TOPIC_BYTES = 65_535

export interface TopicRights {
  mayPublish(connection: Client, topic: string): boolean
  maySubscribe(connection: Client, filter: string): boolean
}

/**
 * Returns why a client must not publish to a topic, or `undefined` if it may. Only the store publishes notifications
 * and responses.
 */
export function publishRejection(topic: string): string | undefined {
  if (!isTopicName(topic)) return 'the topic name is invalid'
  if (topic.startsWith('$')) return 'topics that begin with $ belong to the broker'
  if (topic.startsWith(RESERVED_RESPONSE_PREFIX)) return 'only the state store publishes notifications'
  return isResponseTopic(topic) ? 'only the state store publishes responses' : undefined
}

/** Returns why the store must not respond on a topic, or `undefined` if it may. */
export function responseTopicRejection(clientId: string, topic: string): string | undefined {
  const isOwnTopic = isResponseTopic(topic) && isOwn(clientId, topic.slice('clients/'.length), RESPONSE_PATH)
  if (isOwnTopic) return isTopicName(topic) ? undefined : 'the topic name is invalid'
  return isResponseTopic(topic) ? 'this is the response topic of another client' : publishRejection(topic)
}

/** The length above which a topic is not remembered, because no budget counts it. */
const MAX_CACHED_TOPIC_LENGTH = 1_024

/** Remembers each client's last accepted response topic, because most clients use one topic for all requests. */
export class ResponseTopics {
  readonly #allowed = new WeakMap<object, string>()

  rejectionOf(client: { readonly clientId: string }, topic: string): string | undefined {
    if (this.#allowed.get(client) === topic) return undefined
    const rejection = responseTopicRejection(client.clientId, topic)
    if (rejection === undefined && topic.length <= MAX_CACHED_TOPIC_LENGTH) this.#allowed.set(client, topic)
    return rejection
  }
}

/**
 * Returns whether a client may subscribe to a filter. Of the response and notification topics, only its own are
 * permitted.
 */
export function maySubscribe(clientId: string, filter: string): boolean {
  if (filter === INVOKE_TOPIC) return false
  const prefix = `${RESERVED_RESPONSE_PREFIX}/`
  // The .NET client subscribes to a filter with its plain client id. Nothing is delivered to that filter, but the
  // subscription must not fail.
  if (filter.startsWith(prefix)) return isOwn(clientId, filter.slice(prefix.length), '/')
  return !isResponseTopic(filter) || isOwn(clientId, filter.slice('clients/'.length), RESPONSE_PATH)
}

/**
 * Returns whether a filter selects responses or notifications to this client, which require only rights to keys. A
 * client id with wildcards has no filter that matches only its own topics.
 */
export function isOwnStoreTopic(clientId: string, filter: string): boolean {
  if (/[+#]/.test(clientId)) return false
  const notifications = `${RESERVED_RESPONSE_PREFIX}/`
  if (filter.startsWith(notifications)) return isOwn(clientId, filter.slice(notifications.length), '/')
  return filter.startsWith('clients/') && isOwn(clientId, filter.slice('clients/'.length), RESPONSE_PATH)
}

/** Returns whether a topic carries state store responses to a client. Other services also respond below `clients/`. */
export const isResponseTopic = (topic: string): boolean => topic.startsWith('clients/') && topic.includes(RESPONSE_PATH)

// Returns whether a path belongs to a client. The Go client uses the Base16 form of its id in its response topic.
function isOwn(clientId: string, path: string, rest: string): boolean {
  if (path.startsWith(`${clientId}${rest}`)) return true
  const hex = toHex(utf8(clientId))
  return path.slice(0, hex.length).toUpperCase() === hex.toUpperCase() && path.startsWith(rest, hex.length)
}

/**
 * Returns whether a topic name is valid (MQTT 5.0, section 4.7.3): at least one character, no NUL, at most 65,535
 * bytes.
 */
export const isTopicName = (topic: string): boolean =>
  // A UTF-16 unit takes at most three bytes in UTF-8.
  topic !== '' &&
  !topic.includes('\0') &&
  (3 * topic.length <= MAX_TOPIC_BYTES || utf8(topic).length <= MAX_TOPIC_BYTES)
