import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import mqttPacket, { type Packet } from 'mqtt-packet'
import { onTestFinished } from 'vitest'

/** A client of its own that speaks in packets. */
export class Speaker {
  readonly #socket: Socket
  readonly #came: Packet[] = []
  #wake: () => void = () => undefined
  /** Resolves when the connection is closed. */
  readonly gone: Promise<unknown>

  constructor(url: string) {
    const parser = mqttPacket.parser({ protocolVersion: 5 })
    parser.on('packet', packet => {
      this.#came.push(packet)
      this.#wake()
    })
    this.#socket = connectTcp(Number(new URL(url).port), '127.0.0.1')
    this.#socket.on('data', chunk => parser.parse(chunk))
    this.gone = once(this.#socket, 'close')
    onTestFinished(() => void this.#socket.destroy())
  }

  say(packet: Packet): void {
    this.#socket.write(mqttPacket.generate(packet, { protocolVersion: 5 }))
  }

  connect(token: string, clientId = 'c'): void {
    const properties = { authenticationMethod: 'K8S-SAT', authenticationData: Buffer.from(token) }
    this.say({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 5,
      clientId,
      clean: true,
      keepalive: 0,
      properties,
    })
  }

  renew(token: string, reasonCode = 0x19): void {
    const properties = { authenticationMethod: 'K8S-SAT', authenticationData: Buffer.from(token) }
    this.say({ cmd: 'auth', reasonCode, properties })
  }

  async hear(): Promise<Packet> {
    for (;;) {
      const packet = this.#came.shift()
      if (packet) return packet
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
