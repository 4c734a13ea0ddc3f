import { connect, createServer, type Socket } from 'node:net'
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { listen } from '../../../support/listen.js'
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
  let [connections, convictions] = [0, 0]
  const server = createServer({ noDelay: true }, client => {
    connections++
    const broker = connect({ port, host: '127.0.0.1', noDelay: true })
    const parser = mqttPacket.parser({ protocolVersion: 5 })
    let isOver = false
    parser.on('packet', packet => {
      if (isOver) return
      isOver = packet.cmd === 'publish' && isPoison(packet)
      if (!isOver) {
        broker.write(mqttPacket.generate(packet, { protocolVersion: 5 }))
        return
      }
      convictions++
      broker.destroy()
      if (reasonCode === undefined) client.destroy()
      else client.end(bytesOf({ cmd: 'disconnect', reasonCode }))
    })
    client.on('data', data => parser.parse(data))
    broker.on('data', data => void client.write(data))
    join(client, broker)
  })
  const url = `mqtt://127.0.0.1:${await listen(server)}`
  return {
    url,
    get connections() {
      return connections
    },
    get convictions() {
      return convictions
    },
  }
}

function join(client: Socket, broker: Socket): void {
  for (const [one, other] of [
    [client, broker],
    [broker, client],
  ] as const) {
    one.on('error', () => undefined)
    one.once('close', () => other.end())
  }
  onTestFinished(() => {
    client.destroy()
    broker.destroy()
  })
}
