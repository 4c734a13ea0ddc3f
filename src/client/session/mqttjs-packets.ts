import type { IPublishPacket } from 'mqtt'
import { utf8 } from '../../core/util/bytes.js'
import type { InboundMessage } from './session.js'

/**
 * A message as mqtt.js gives it; its `properties` may be missing.
 *
 * @param topic - what mqtt.js made of a topic alias; the packet's own is empty then (MQTT 5.0, section 3.3.2.3.4)
 */
export function toMessage(topic: string, { payload, properties }: IPublishPacket): InboundMessage {
  return {
    topic,
    // A copy: a value that is kept must not keep alive the network buffer it came in.
    payload: typeof payload === 'string' ? utf8(payload) : new Uint8Array(payload),
    correlationData: properties?.correlationData,
    contentType: properties?.contentType,
    userProperties: properties?.userProperties ?? {},
    subscriptionIds: [properties?.subscriptionIdentifier ?? []].flat(),
  }
}

/** The MQTT reason code of an error of mqtt.js; those of the system have names. */
export const numericCode = (error: Error): number | undefined =>
  'code' in error && typeof error.code === 'number' ? error.code : undefined
