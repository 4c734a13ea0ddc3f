import mqttPacket, { type IPublishPacket, type Packet } from 'mqtt-packet'
import { layLink } from '../../../support/link.js'
import { bytesOf } from '../../../support/packets.js'

/** A proxy to a broker that rejects some messages. */
export interface ObjectingLink {
  readonly url: string
  readonly connections: number
  /** The number of connections that ended because of a message. */
  readonly convictions: number
}

/** Opens a proxy that forwards packets to a broker, and ends a connection with or without a reason code on a rejected packet. */
export async function openRejectingLink(
  port: number,
  isPoison: (packet: IPublishPacket) => boolean,
  reasonCode: number | undefined,
): Promise<ObjectingLink> {
  let convictions = 0
  const link = await layLink(`mqtt://127.0.0.1:${port}`, undefined, ({ near, hangUp }) => {
    const parser = mqttPacket.parser({ protocolVersion: 5 })
    const packets: Packet[] = []
    parser.on('packet', packet => packets.push(packet))
    let isOver = false
    return function* (chunk) {
      parser.parse(chunk)
      for (const packet of packets.splice(0)) {
        if (isOver) return
        isOver = packet.cmd === 'publish' && isPoison(packet)
        if (!isOver) {
          yield mqttPacket.generate(packet, { protocolVersion: 5 })
          continue
        }
        convictions++
        hangUp('far')
        if (reasonCode === undefined) near.destroy()
        else near.end(bytesOf({ cmd: 'disconnect', reasonCode }))
      }
    }
  })
  return {
    url: link.url,
    get connections() {
      return link.connections
    },
    get convictions() {
      return convictions
    },
  }
}
