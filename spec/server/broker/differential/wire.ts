import { connect, type Socket } from 'node:net'
import mqttPacket, { type Packet } from 'mqtt-packet'

/** How long a broker may take over anything before it counts as no answer, ms. */
const PATIENCE = 5_000

const PINGREQ = Buffer.from([0xc0, 0])
const PINGRESP = Buffer.from([0xd0, 0])

/** A connection in the words of a codec that is none of ours. It answers nothing of itself. */
export class Wire {
  readonly version: 4 | 5
  /** Whether the server may still be heard. */
  open = true
  readonly #socket: Socket
  readonly #heard: (packet: Packet) => void
  readonly #waiting = new Set<() => void>()
  #pings = 0
  #pongs = 0

  constructor(port: number, version: 4 | 5, heard: (packet: Packet) => void) {
    this.version = version
    this.#heard = heard
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const parser = mqttPacket.parser({ protocolVersion: version })
    parser.on('packet', packet => this.#take(packet))
    parser.on('error', error => this.#end(error))
    let incomplete = 0
    this.#socket.on('data', data => {
      // Most of what comes are answers to pings, one by one.
      if (incomplete === 0 && data.equals(PINGRESP)) this.#pongs++
      else incomplete = parser.parse(data)
      this.#wake()
    })
    // The broker may close with our bytes unread, which is a reset.
    this.#socket.on('error', () => undefined)
    this.#socket.on('end', () => this.#end())
    this.#socket.on('close', () => this.#end())
  }

  send(...packets: readonly Packet[]): void {
    const encoded = packets.map(packet => mqttPacket.generate(packet, { protocolVersion: this.version }))
    this.#socket.write(encoded.length === 1 && encoded[0] ? encoded[0] : Buffer.concat(encoded))
  }

  /** Settles when the server has dealt with all that was sent, and all that it had to say before is here. */
  async settled(): Promise<void> {
    if (!this.open) return
    this.#socket.write(PINGREQ)
    const mine = ++this.#pings
    await this.until(() => this.#pongs >= mine)
  }

  /** Settles when it holds or when the server has closed; rejects when neither comes. */
  async until(holds: () => boolean): Promise<void> {
    while (this.open && !holds()) await this.#something()
  }

  /** Says no more, which the server hears as the end of the connection, and waits for the server's end. */
  async end(): Promise<void> {
    this.#socket.end()
    await this.until(() => false)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  async #something(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE} ms`)), PATIENCE)
      this.#waiting.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #take(packet: Packet): void {
    if (packet.cmd === 'pingresp') this.#pongs++
    else this.#heard(packet)
  }

  #end(error?: Error): void {
    if (error) this.#socket.destroy(error)
    this.open = false
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
