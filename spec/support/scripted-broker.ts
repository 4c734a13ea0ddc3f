import { createServer, type Socket } from 'node:net'
import mqttPacket, { type IConnackPacket, type IConnectPacket, type Packet } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { listen } from './listen.js'
import { bytesOf } from './packets.js'

/** One connection, as the broker sees it. */
export interface BrokerSide {
  /** Counted from 1. */
  readonly number: number
  readonly socket: Socket
  readonly connect: IConnectPacket
  send(packet: Packet): void
}

/** A broker in the hands of a spec. */
export interface ScriptedBroker {
  readonly url: string
  readonly sides: readonly BrokerSide[]
}

/** Speaks MQTT 5 to every client: `connected` responds to CONNECT, `received` to later packets. */
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
    // Before the clients close, which would wait for an answer.
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
