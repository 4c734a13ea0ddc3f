import type { Connect } from '../../src/core/mqtt5/packets.js'

/** A decoded CONNECT with defaults and without properties, which is valid in MQTT 3.1.1 and 5. */
export const PLAIN_CONNECT: Connect = {
  type: 'connect',
  version: 5,
  cleanStart: true,
  keepAlive: 0,
  clientId: 'ann',
  username: undefined,
  password: undefined,
  will: undefined,
  sessionExpiry: 0,
  receiveMaximum: 65_535,
  maximumPacketSize: undefined,
  topicAliasMaximum: 0,
  requestResponseInformation: false,
  requestProblemInformation: true,
  authenticationMethod: undefined,
  authenticationData: undefined,
  userProperties: [],
}
