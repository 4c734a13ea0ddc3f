import { decodeConnect } from './decode-connect.js'
import {
  decodeAcknowledgement,
  decodeAuth,
  decodeDisconnect,
  decodeSubscribe,
  decodeUnsubscribe,
} from './decode-subscribe.js'
import { contentOf, FIXED_FLAGS, startOfContent } from './layout.js'
import { malformed, protocolError } from './packet-error.js'
import * as PACKET from './packet-types.js'
import type { ClientPacket, Version } from './packets.js'
import { Reader } from './reader.js'

/**
 * Reads a packet of a client, all but PUBLISH, as strictly as the standard asks for; byte strings are views of the frame.
 * The syntax of topic filters is left to the broker, which answers them one by one, see `isTopicFilter`.
 *
 * @param frame - one whole packet, as `FrameCutter` gives it
 * @param version - of the connection; a CONNECT is read by what it says itself
 * @param mostUserProperties - more of them are refused; default 1,000
 * @throws PacketError with the reason code for the client
 * @example
 * ```ts
 * const packet = decodePacket(frame, 5)
 * if (packet.type === 'subscribe') answer(packet.packetId, packet.subscriptions)
 * ```
 */
export function decodePacket(frame: Uint8Array, version: Version, mostUserProperties?: number): ClientPacket {
  const reader = new Reader(frame, startOfContent(frame))
  if (mostUserProperties !== undefined) reader.mostUserProperties = mostUserProperties
  const packet = decode(reader, frame[0] ?? 0, version)
  contentOf(frame, packet.type === 'connect' ? packet.version : version)
  reader.finish()
  return packet
}

function decode(reader: Reader, first: number, version: Version): ClientPacket {
  const type = first >> 4
  checkFlags(type, first & 0b1111)
  switch (type) {
    case PACKET.connect:
      return decodeConnect(reader)
    case PACKET.puback:
      return decodeAcknowledgement(reader, 'puback', version)
    case PACKET.pubrec:
      return decodeAcknowledgement(reader, 'pubrec', version)
    case PACKET.pubrel:
      return decodeAcknowledgement(reader, 'pubrel', version)
    case PACKET.pubcomp:
      return decodeAcknowledgement(reader, 'pubcomp', version)
    case PACKET.subscribe:
      return decodeSubscribe(reader, version)
    case PACKET.unsubscribe:
      return decodeUnsubscribe(reader, version)
    case PACKET.pingreq:
      return { type: 'pingreq' }
    case PACKET.disconnect:
      return decodeDisconnect(reader, version)
    case PACKET.auth:
      if (version === 5) return decodeAuth(reader)
      break
    case PACKET.connack:
    case PACKET.publish:
    case PACKET.suback:
    case PACKET.unsuback:
    case PACKET.pingresp:
      throw protocolError(`A packet of type ${type} is not for a client to send, or not here`)
  }
  throw malformed(`The packet type ${type} is reserved`)
}

/** MQTT 5.0, section 2.1.3. The flags of a PUBLISH say something. */
function checkFlags(type: number, flags: number): void {
  const fixed = type === PACKET.pubrel || type === PACKET.subscribe || type === PACKET.unsubscribe ? FIXED_FLAGS : 0
  if (flags !== fixed && type !== PACKET.publish) throw malformed(`Flags ${flags} are reserved for packet type ${type}`)
}
