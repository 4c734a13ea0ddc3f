import { CLIENT_REASONS, type ReasonedType } from './client-reasons.js'
import { protocolError } from './packet-error.js'
import type { Reader } from './reader.js'
import type { ReasonCode } from './reason-code.js'

/** Reads a packet identifier, which is not 0 (MQTT 5.0, section 2.2.1). */
export function readPacketId(reader: Reader): number {
  const packetId = reader.uint16()
  if (packetId === 0) throw protocolError('The packet identifier is 0')
  return packetId
}

/** Reads a reason code, one of those a client may send in a packet of this type. */
export function readReason(reader: Reader, type: ReasonedType): ReasonCode {
  const code = reader.byte()
  const known = CLIENT_REASONS[type].find(one => one === code)
  if (known === undefined) throw protocolError(`A client must not send reason code ${code} in ${type}`)
  return known
}
