import { protocolError } from './packet-error.js'
import type { Auth, Disconnect, Version } from './packets.js'
import { readReason } from './read-fields.js'
import { readProperties } from './read-properties.js'
import type { Reader } from './reader.js'
import * as REASON from './reason-codes.js'

/** Reads DISCONNECT (MQTT 5.0, section 3.14). What is left out at the end has its default. */
export function decodeDisconnect(reader: Reader, version: Version): Disconnect {
  const type = 'disconnect'
  if (version === 4 || reader.left === 0) return { type, reasonCode: REASON.success }
  const reasonCode = readReason(reader, type)
  if (reader.left === 0) return { type, reasonCode }
  const { sessionExpiry, reasonString, userProperties, serverReference } = readProperties(reader, version, type)
  // Section 3.14.2.2.5
  if (serverReference !== undefined) throw protocolError('A client refers to another server')
  return { type, reasonCode, sessionExpiry, reasonString, userProperties }
}

/** Reads AUTH (MQTT 5.0, section 3.15). */
export function decodeAuth(reader: Reader): Auth {
  const type = 'auth'
  // Left out it would be success (section 3.15.2.1), which is not for a client to say.
  const reasonCode = readReason(reader, type)
  const properties = readProperties(reader, 5, type)
  const { authenticationMethod, authenticationData, reasonString, userProperties } = properties
  if (authenticationMethod === undefined) throw protocolError('AUTH has no authentication method')
  return { type, reasonCode, authenticationMethod, authenticationData, reasonString, userProperties }
}
