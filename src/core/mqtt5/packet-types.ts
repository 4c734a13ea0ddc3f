// Packet types, in the high half of the first byte (MQTT 5.0, section 2.1.2). They are separate exports, so that a
// client bundles only the ones it uses.

export const connect = 1
export const connack = 2
export const publish = 3
export const puback = 4
export const pubrec = 5
export const pubrel = 6
export const pubcomp = 7
export const subscribe = 8
export const suback = 9
export const unsubscribe = 10
export const unsuback = 11
export const pingreq = 12
export const pingresp = 13
export const disconnect = 14
export const auth = 15

export const TYPES = {
  connect,
  connack,
  publish,
  puback,
  pubrec,
  pubrel,
  pubcomp,
  subscribe,
  suback,
  unsubscribe,
  unsuback,
  pingreq,
  pingresp,
  disconnect,
  auth,
} as const

export type PacketType = keyof typeof TYPES
