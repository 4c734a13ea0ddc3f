import { toHex, utf8 } from '../util/bytes.js'

const STORE_TOPIC = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

/** Topic of all requests (state store protocol, "System topic"). */
export const INVOKE_TOPIC = `${STORE_TOPIC}/command/invoke`

/** Forbidden prefix of response topics (state store protocol, "System topic": Response Topic). */
export const RESERVED_RESPONSE_PREFIX = `clients/${STORE_TOPIC}`

/**
 * Retained topic where an attached store announces its active instance, or that it has stopped. An extension. It is not
 * below `clients/`, where each topic belongs to one client.
 */
export const INSTANCE_TOPIC = 'rx-statestore/v1/life'

/** The payload when no store serves. An empty payload means the same, but some brokers reject empty wills. */
export const AWAY = 'away'

/**
 * Returns the response topic that is recommended for a client (state store protocol, "System topic": Response Topic).
 */
export const responseTopic = (clientId: string): string =>
  `clients/${clientId}/services/statestore/_any_/command/invoke/response`

/**
 * Returns the prefix of a client's notification topics, which ends in `/` and is followed by the key in Base16 (state
 * store protocol, "KEYNOTIFY notification topics and lifecycle").
 */
export const notificationPrefix = (clientId: string): string =>
  `${RESERVED_RESPONSE_PREFIX}/${toHex(utf8(clientId))}/command/notify/`

/** Maximum length of a watched key, bytes. The notification topic of a longer key would exceed the limit of MQTT. */
export const MAX_WATCHED_KEY_BYTES = 30_000

export const notificationFilter = (clientId: string): string => `${notificationPrefix(clientId)}+`

/** Returns whether a response topic is allowed. The store disconnects a client that uses a forbidden one. */
export const isAllowedResponseTopic = (topic: string): boolean =>
  topic !== INVOKE_TOPIC && !topic.startsWith(RESERVED_RESPONSE_PREFIX)
