import type { InboundMessage } from '../../client/session/session.js'
import type { Content, Incoming, PropertiesByName, Publish } from '../../core/mqtt5/publish.js'
import { NO_USER_PROPERTIES } from '../../core/mqtt5/user-properties.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION, STATUS } from '../../core/protocol/properties.js'
import { concatBytes, putAscii, utf8 } from '../../core/util/bytes.js'

const NOTHING = new Uint8Array(0)

/**
 * A request as the store is to take it. Brokers do not pass on that a client repeats a PUBLISH (MQTT 5.0, section 3.3.1.1), so
 * any may be a repetition: it is known by its correlation data together with its timestamp, which only a repetition has in
 * common with the request before. Without a timestamp the broker's own word is all there is.
 *
 * How long a client waits is left out, as what was answered would be forgotten then: a broker that had begun to deliver a
 * message repeats it after any cut, long after its expiry (MQTT 5.0, section 3.3.2.3.3).
 */
export function requestOf(request: InboundMessage): Incoming {
  const { topic, payload, contentType, responseTopic, correlationData = NOTHING, userProperties } = request
  const timestamp = userProperties[PROPERTY.timestamp]
  const isMarked = typeof timestamp === 'string'
  const place = isMarked ? marked(correlationData, timestamp) : new Uint8Array(correlationData)
  const { qos = 0, dup = false } = request
  // One by one: there is one for every request, and a spread object takes many times as long.
  return {
    topic,
    payload,
    contentType,
    responseTopic,
    correlationData: place,
    userProperties,
    qos,
    dup: dup || isMarked,
  }
}

/** Bytes, and a text behind them. */
function marked(bytes: Uint8Array, text: string): Uint8Array {
  const place = new Uint8Array(bytes.length + text.length)
  if (putAscii(place, bytes.length, text) === undefined) return concatBytes([bytes, utf8(text)])
  place.set(bytes)
  return place
}

/** What all answers of a life of the store have in common. */
export class Signature {
  readonly life: string
  /** By the properties that answers of a kind have in common: one object for all of them, so that it is encoded once. */
  readonly #signed = new WeakMap<PropertiesByName, PropertiesByName>()

  constructor(life: string) {
    this.life = life
  }

  /** The answer for the client: it belongs to the request as it came, lives no longer, and names the life of the store. */
  answerTo({ correlationData, messageExpiry }: InboundMessage, topic: string, content: Content): Publish {
    const { payload, contentType, userProperties, commonProperties = NO_USER_PROPERTIES } = content
    return {
      topic,
      payload,
      contentType,
      // With a view, all that was read with the request would be kept.
      correlationData: correlationData && new Uint8Array(correlationData),
      messageExpiry,
      userProperties,
      commonProperties: this.#sign(commonProperties),
    }
  }

  #sign(properties: PropertiesByName): PropertiesByName {
    const known = this.#signed.get(properties)
    if (known !== undefined) return known
    const signed = { ...properties, [PROPERTY.life]: this.life }
    this.#signed.set(properties, signed)
    return signed
  }
}

/** The answer to a request of which it is not known who sent it. */
export const refusalOf = (words: string, property: string, value: string): Content => ({
  payload: NOTHING,
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
