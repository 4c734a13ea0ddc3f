import { FIXED_FLAGS, MAX_HEADER_BYTES, MqttWriter, putVarint, sizeOfVarint } from './data-types.js'
import { type PacketType, TYPES } from './packet-types.js'
import type { Acknowledgement, Connack, ServerPacket, SubscriptionAcknowledgement, Version } from './packets.js'
import { writeProperties } from './property-table.js'
import * as REASON from './reason-codes.js'
import { FIRST_FAILURE, returnCodeOf } from './reason-codes.js'

const INITIAL_BYTES = 64
const NO_BYTES = new Uint8Array(0)

/**
 * Encodes a server's packet of any type but PUBLISH. MQTT 3.1.1 has no AUTH and no DISCONNECT of the server, so these
 * encode to zero bytes.
 *
 * @param maximumPacketSize - maximum of the client, bytes. To fit, the user properties and then the reason string are
 * omitted (MQTT 5.0, sections 3.2.2.3.9, 3.4.2.2.2 and others). A packet that is still too large is returned
 * regardless.
 * @example
 * ```ts
 * socket.write(encodePacket({ type: 'pingresp' }, 5))
 * ```
 */
export function encodePacket(
  packet: ServerPacket,
  version: Version,
  maximumPacketSize = Number.POSITIVE_INFINITY,
): Uint8Array {
  const frame = encode(packet, version)
  if (frame.length <= maximumPacketSize || !('reasonString' in packet || 'userProperties' in packet)) return frame
  const plain = encode({ ...packet, userProperties: undefined }, version)
  if (plain.length <= maximumPacketSize) return plain
  return encode({ ...packet, userProperties: undefined, reasonString: undefined }, version)
}

function encode(packet: ServerPacket, version: Version): Uint8Array {
  const writer = new MqttWriter(INITIAL_BYTES)
  writer.at = MAX_HEADER_BYTES
  switch (packet.type) {
    case 'connack':
      writeConnack(writer, packet, version)
      break
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      writeAcknowledgement(writer, packet, version)
      break
    case 'suback':
    case 'unsuback':
      writeSubscriptionAcknowledgement(writer, packet, version)
      break
    case 'disconnect':
    case 'auth':
      if (version === 4) return NO_BYTES
      writer.byte(packet.reasonCode)
      writeProperties(writer, packet.type, packet)
  }
  return withHeader(writer, packet.type)
}

/** Writes the header directly before the content, which starts at the maximum header size. */
function withHeader(writer: MqttWriter, type: PacketType): Uint8Array {
  const length = writer.at - MAX_HEADER_BYTES
  const start = MAX_HEADER_BYTES - 1 - sizeOfVarint(length)
  writer.bytes[start] = (TYPES[type] << 4) | (type === 'pubrel' ? FIXED_FLAGS : 0)
  putVarint(writer.bytes, start + 1, length)
  return writer.bytes.subarray(start, writer.at)
}

/** Writes a CONNACK (MQTT 5.0, section 3.2). A failure has no session (MQTT-3.2.2-6). */
function writeConnack(writer: MqttWriter, packet: Connack, version: Version): void {
  writer.byte(packet.sessionPresent && packet.reasonCode === REASON.success ? 1 : 0)
  writer.byte(version === 4 ? returnCodeOf(packet.reasonCode) : packet.reasonCode)
  if (version === 5) writeProperties(writer, packet.type, packet)
}

/**
 * Writes a PUBACK, PUBREC, PUBREL or PUBCOMP (MQTT 5.0, sections 3.4 to 3.7). Success without properties is omitted.
 */
function writeAcknowledgement(writer: MqttWriter, packet: Acknowledgement, version: Version): void {
  writer.uint16(packet.packetId)
  if (version === 4) return
  const plain = packet.reasonString === undefined && (packet.userProperties ?? []).length === 0
  if (!plain || packet.reasonCode !== REASON.success) writer.byte(packet.reasonCode)
  if (!plain) writeProperties(writer, packet.type, packet)
}

/** Writes a SUBACK or UNSUBACK (MQTT 5.0, sections 3.9 and 3.11). */
function writeSubscriptionAcknowledgement(
  writer: MqttWriter,
  packet: SubscriptionAcknowledgement,
  version: Version,
): void {
  writer.uint16(packet.packetId)
  if (version === 5) writeProperties(writer, packet.type, packet)
  if (version === 4 && packet.type === 'unsuback') return
  for (const code of packet.reasonCodes)
    writer.byte(version === 4 && code >= FIRST_FAILURE ? REASON.unspecifiedError : code)
}
