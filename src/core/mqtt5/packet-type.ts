import * as PACKET from './packet-types.js'

/** Name of a packet type. */
export type PacketType = keyof typeof PACKET

/** Packet types by name (MQTT 5.0, section 2.1.2). */
export const TYPES: Readonly<Record<PacketType, number>> = { ...PACKET }
