import { FIXED_FLAGS, LONGEST_HEADER, putVarint, sizeOfVarint } from '../../src/core/mqtt5/layout.js'
import { TYPES } from '../../src/core/mqtt5/packet-type.js'
import type { ClientPacket, Connect, Version, Will } from '../../src/core/mqtt5/packets.js'
import { writeProperties } from '../../src/core/mqtt5/write-properties.js'
import { Writer } from '../../src/core/mqtt5/writer.js'

/** Writes a packet of a client, all of it: what `decodePacket` reads. */
export function encodeClientPacket(packet: ClientPacket, version: Version): Uint8Array {
  const writer = new Writer(64)
  writer.at = LONGEST_HEADER
  write(writer, packet, version)
  const length = writer.at - LONGEST_HEADER
  const start = LONGEST_HEADER - 1 - sizeOfVarint(length)
  const fixed = ['pubrel', 'subscribe', 'unsubscribe'].includes(packet.type) ? FIXED_FLAGS : 0
  writer.bytes[start] = (TYPES[packet.type] << 4) | fixed
  putVarint(writer.bytes, start + 1, length)
  return writer.bytes.slice(start, writer.at)
}

function write(writer: Writer, packet: ClientPacket, version: Version): void {
  switch (packet.type) {
    case 'connect':
      writeConnect(writer, packet)
      return
    case 'subscribe':
      writer.uint16(packet.packetId)
      if (version === 5) writeProperties(writer, packet.type, packet)
      for (const { filter, qos, noLocal, retainAsPublished, retainHandling } of packet.subscriptions) {
        writer.text(filter)
        writer.byte(qos | (Number(noLocal) << 2) | (Number(retainAsPublished) << 3) | (retainHandling << 4))
      }
      return
    case 'unsubscribe':
      writer.uint16(packet.packetId)
      if (version === 5) writeProperties(writer, packet.type, packet)
      for (const filter of packet.filters) writer.text(filter)
      return
    case 'pingreq':
    case 'pingresp':
      return
    case 'disconnect':
    case 'auth':
      if (version === 4) return
      writer.byte(packet.reasonCode)
      writeProperties(writer, packet.type, packet)
      return
    default:
      writer.uint16(packet.packetId)
      if (version === 4) return
      writer.byte(packet.reasonCode)
      writeProperties(writer, packet.type, packet)
  }
}

function writeConnect(writer: Writer, packet: Connect): void {
  const { version, will, username, password, cleanStart } = packet
  writer.text('MQTT')
  writer.byte(version)
  const ofWill = will === undefined ? 0 : 0b100 | (will.qos << 3) | (Number(will.retain) << 5)
  const ofUser = (Number(password !== undefined) << 6) | (Number(username !== undefined) << 7)
  writer.byte((Number(cleanStart) << 1) | ofWill | ofUser)
  writer.uint16(packet.keepAlive)
  if (version === 5) writeProperties(writer, 'connect', packet)
  writer.text(packet.clientId)
  if (will !== undefined) writeWill(writer, will, version)
  if (username !== undefined) writer.text(username)
  if (password !== undefined) writer.binary(password)
}

function writeWill(writer: Writer, will: Will, version: Version): void {
  const { delay, messageExpiry, responseTopic, correlationData } = will
  const userProperties = Object.entries(will.userProperties).flatMap(([name, value]) =>
    [value].flat().map(one => [name, one] as const),
  )
  if (version === 5) {
    writeProperties(writer, 'will', { willDelay: delay, messageExpiry, responseTopic, correlationData, userProperties })
  }
  writer.text(will.topic)
  writer.binary(will.payload)
}
