import { concatBytes, utf8 } from '../base/bytes.js'
import type { InboundMessage } from '../mqtt/session.js'
import type { Content, Incoming } from '../packet/publish.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION, STATUS } from '../protocol/properties.js'

/**
 * A request as the store is to take it. Brokers do not pass on that a client repeats a PUBLISH (MQTT 5.0, section 3.3.1.1), so
 * any may be a repetition: it is known by its correlation data together with its timestamp, which only a repetition has in
 * common with the request before. Without a timestamp the broker's own word is all there is.
 *
 * How long a client waits is left out, as what was answered would be forgotten then: a broker that had begun to deliver a
 * message repeats it after any cut, long after its expiry (MQTT 5.0, section 3.3.2.3.3).
 */
export function requestOf(request: InboundMessage): Incoming {
  const { qos = 0, dup = false, correlationData, messageExpiry: _, ...message } = request
  const timestamp = message.userProperties[PROPERTY.timestamp]
  const isMarked = typeof timestamp === 'string'
  const own = correlationData ?? new Uint8Array(0)
  const place = isMarked ? concatBytes([own, utf8(timestamp)]) : new Uint8Array(own)
  return { ...message, qos, dup: dup || isMarked, correlationData: place }
}

/** The answer for the client: it belongs to the request as it came, lives no longer, and names the life of the store. */
export const answerOf = (message: InboundMessage, content: Content, life: string): Content => ({
  ...content,
  correlationData: message.correlationData && new Uint8Array(message.correlationData),
  messageExpiry: message.messageExpiry,
  userProperties: { ...content.userProperties, [PROPERTY.life]: life },
})

/** The answer to a request of which it is not known who sent it. */
export const refusalOf = (words: string, property: string, value: string): Content => ({
  payload: new Uint8Array(0),
  contentType: CONTENT_TYPE,
  userProperties: {
    [PROPERTY.status]: String(STATUS.badRequest),
    [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
    [PROPERTY.sourceId]: 'StateStore',
    [PROPERTY.statusMessage]: words,
    [PROPERTY.invalidProperty]: property,
    [PROPERTY.invalidValue]: value.slice(0, 80),
    [PROPERTY.highPriority]: '',
  },
})
