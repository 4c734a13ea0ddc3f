import type { Packet } from 'mqtt-packet'

const proofOf = (token: string) => ({ authenticationMethod: 'K8S-SAT', authenticationData: Buffer.from(token) })

/** Creates a CONNECT with a token. */
export const connectWith = (token: string, clientId = 'c'): Packet => ({
  cmd: 'connect',
  protocolId: 'MQTT',
  protocolVersion: 5,
  clientId,
  clean: true,
  keepalive: 0,
  properties: proofOf(token),
})

/** Creates an AUTH with a token. 0x19 re-authenticates, and 0x18 continues. */
export const authWith = (token: string, reasonCode = 0x19): Packet => ({
  cmd: 'auth',
  reasonCode,
  properties: proofOf(token),
})
