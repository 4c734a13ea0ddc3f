import { createServer, type Socket } from 'node:net'
import mqttPacket, { type IConnackPacket, type IConnectPacket, type Packet } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { listen } from './listen.js'
import { bytesOf } from './packets.js'

/** One connection from the broker's point of view. */
export interface BrokerSide {
  /** The number of the connection, counted from 1. */
  readonly number: number
  readonly socket: Socket
  readonly connect: IConnectPacket
  send(packet: Packet): void
}

/** A broker that a spec controls. */
export interface ScriptedBroker {
  readonly url: string
  readonly sides: readonly BrokerSide[]
}

/**
 * Starts a broker that speaks MQTT 5 with every client. `connected` responds to CONNECT, and `received` to later
 * packets.
 */
export async function scriptedBroker(
  connected: (side: BrokerSide) => void,
  received: (side: BrokerSide, packet: Packet) => void = () => undefined,
): Promise<ScriptedBroker> {
  const sides: BrokerSide[] = []
  const server = createServer(socket => {
    const parser = mqttPacket.parser({ protocolVersion: 5 })
    let side: BrokerSide | undefined
    parser.on('packet', packet => {
      if (packet.cmd === 'connect') {
        side = { number: sides.length + 1, socket, connect: packet, send: sent => void socket.write(bytesOf(sent)) }
        sides.push(side)
        connected(side)
      } else if (side) received(side, packet)
    })
    socket.on('data', data => parser.parse(data)).on('error', () => socket.destroy())
    // Runs before the clients close, because they would wait for a response.
    onTestFinished(() => void socket.destroy())
  })
  return { url: `mqtt://127.0.0.1:${await listen(server)}`, sides }
}

export const CONNACK: IConnackPacket = { cmd: 'connack', reasonCode: 0, sessionPresent: false }

/** Grants every subscription. */
export function grant(side: BrokerSide, packet: Packet): void {
  if (packet.cmd !== 'subscribe') return
  side.send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: packet.subscriptions.map(() => 1) })
}
