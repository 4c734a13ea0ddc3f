import { toHex, utf8 } from '../util/bytes.js'

const STORE = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

/** Where every request goes (state store protocol, "System topic"). */
export const INVOKE_TOPIC = `${STORE}/command/invoke`

/** A response topic may not begin with this (state store protocol, "System topic": Response Topic). */
export const RESERVED_RESPONSE_PREFIX = `clients/${STORE}`

/**
 * Where a store beside a broker says, retained, which life of it serves, and that it is away. Of this package alone; not
 * below `clients/`, whose topics belong to one client each.
 */
export const LIFE_TOPIC = 'rx-statestore/v1/life'

/** What is said there in place of a life of a store that is away; so is nothing at all. Some brokers take no empty wills. */
export const AWAY = 'away'

/** The response topic recommended for a client (state store protocol, "System topic": Response Topic). */
export const responseTopic = (clientId: string): string =>
  `clients/${clientId}/services/statestore/_any_/command/invoke/response`

/**
 * Everything below which a client's notifications arrive, ending in `/`; the key follows in Base16 (state store protocol,
 * "KEYNOTIFY notification topics and lifecycle").
 */
export const notificationPrefix = (clientId: string): string =>
  `${RESERVED_RESPONSE_PREFIX}/${toHex(utf8(clientId))}/command/notify/`

/** What a client subscribes to once, for all its keys. */
export const notificationFilter = (clientId: string): string => `${notificationPrefix(clientId)}+`

/** Whether a request may ask for its answer there; the store disconnects a client that asks for a forbidden one. */
export const isAllowedResponseTopic = (topic: string): boolean =>
  topic !== INVOKE_TOPIC && !topic.startsWith(RESERVED_RESPONSE_PREFIX)
