import type { Publish } from '../../src/core/mqtt5/packets.js'
import { envelopeOf, PublishEncoder, type WriteBuffer } from '../../src/core/mqtt5/publish-encoder.js'

/** Encodes an MQTT 5 PUBLISH into a separate buffer. Packet id 0 means QoS 0. */
export const publishPacket = (publish: Publish, packetId: number, encoder = new PublishEncoder()): Uint8Array =>
  written(room => encoder.encodeTo(publish.topic, publish, envelopeOf(packetId), room))

/** Returns the bytes that `write` writes to a growing buffer. */
export function written(write: (room: WriteBuffer) => void): Uint8Array {
  const room = new OwnRoom()
  write(room)
  return room.block
}

/** Memory for one packet. */
class OwnRoom implements WriteBuffer {
  block = new Uint8Array(0)

  allocate(bytes: number): number {
    this.block = new Uint8Array(bytes)
    return 0
  }
}
