import { connect, createServer, type Socket } from 'node:net'
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { listen } from '../../../support/listen.js'
import { bytesOf } from '../../../support/packets.js'

/** A way to a broker that does not take everything. */
export interface ObjectingLink {
  readonly url: string
  /** How many there were. */
  readonly connections: number
  /** How many of them were ended over a message. */
  readonly convictions: number
}

/**
 * Passes on what clients send to a broker, but for what it objects to: then it ends the connection, with a reason code or
 * without a word.
 */
export async function objecting(
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
