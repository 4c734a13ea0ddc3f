import type { Acknowledgement, Version } from './packets.js'
import { readPacketId, readReason } from './read-fields.js'
import { readProperties } from './read-properties.js'
import type { Reader } from './reader.js'
import * as REASON from './reason-codes.js'

/** Reads PUBACK, PUBREC, PUBREL or PUBCOMP (MQTT 5.0, sections 3.4 to 3.7). What is left out at the end has its default. */
export function decodeAcknowledgement(
  reader: Reader,
  type: Acknowledgement['type'],
  version: Version,
): Acknowledgement {
  const packetId = readPacketId(reader)
  if (version === 4 || reader.left === 0) return { type, packetId, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.left === 0) return { type, packetId, reasonCode }
  const { reasonString, userProperties } = readProperties(reader, version, type)
  return { type, packetId, reasonCode, reasonString, userProperties }
}
