import mqttPacket, { type Packet } from 'mqtt-packet'

/** A packet of MQTT 5. */
export const bytesOf = (packet: Packet): Uint8Array => mqttPacket.generate(packet, { protocolVersion: 5 })

/** A packet of MQTT 3.1.1. */
export const bytesOf311 = (packet: Packet): Uint8Array => mqttPacket.generate(packet, { protocolVersion: 4 })
