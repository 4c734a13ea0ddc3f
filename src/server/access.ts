import { toHex, utf8 } from '../bytes.js'
import { INVOKE_TOPIC, RESERVED_RESPONSE_PREFIX } from '../protocol/topics.js'

const RESPONSES = '/services/statestore/'

/** Why a client may not publish there, or `undefined` if it may. Notifications and responses come from the store alone. */
export function publishRefusal(clientId: string, topic: string): string | undefined {
  if (topic.startsWith('$')) return 'topics that begin with $ belong to the broker'
  if (topic.startsWith(RESERVED_RESPONSE_PREFIX)) return 'only the state store publishes notifications'
  if (isForeignResponseTopic(clientId, topic)) return 'this is the response topic of another client'
  return undefined
}

/** Whether a client may subscribe to a filter: to the store's notifications only to its own. */
export function maySubscribe(clientId: string, filter: string): boolean {
  if (filter === INVOKE_TOPIC) return false
  const prefix = `${RESERVED_RESPONSE_PREFIX}/`
  if (!filter.startsWith(prefix)) return true
  // The .NET client subscribes with its plain client id; that delivers nothing, but must not fail.
  return isOwn(clientId, filter.slice(prefix.length))
}

/** Whether a topic is where another client awaits the store's responses: a request may not point there either. */
export const isForeignResponseTopic = (clientId: string, topic: string): boolean =>
  topic.startsWith('clients/') && topic.includes(RESPONSES) && !isOwn(clientId, topic.slice('clients/'.length))

// The Go client has its response topic below the Base16 form of its id.
function isOwn(clientId: string, path: string): boolean {
  const hex = toHex(utf8(clientId))
  return path.startsWith(`${clientId}/`) || path.slice(0, hex.length + 1).toUpperCase() === `${hex}/`
}
