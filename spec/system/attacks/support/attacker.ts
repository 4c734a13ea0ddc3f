import { connect as connectSocket, type Socket } from 'node:net'
import { PINGREQ } from '../../../support/packets.js'

/** A connection that sends whatever it likes, and reads or does not. */
export class Attacker {
  readonly socket: Socket
  /** Bytes that came. */
  received = 0
  /** The bytes that came last. */
  last: Buffer = Buffer.alloc(0)
  readonly #closed: Promise<void>

  private constructor(socket: Socket) {
    this.socket = socket
    this.#closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    socket.on('data', data => {
      this.received += data.length
      this.last = data
    })
  }

  /** A TCP connection; nothing is said yet. */
  static async open(url: string): Promise<Attacker> {
    const { hostname, port } = new URL(url)
    const attacker = new Attacker(connectSocket({ host: hostname, port: Number(port), noDelay: true }))
    await new Promise<void>(resolve => attacker.socket.once('connect', resolve))
    return attacker
  }

  get ended(): boolean {
    return this.socket.destroyed
  }

  /** Settles when the system has taken the bytes, or the connection has ended. */
  async send(...pieces: readonly Uint8Array[]): Promise<void> {
    for (const piece of pieces) {
      if (this.ended) return
      if (!this.socket.write(piece)) await this.#either('drain')
    }
  }

  /** Settles when something comes, or the connection ends; rejects when it has ended. */
  async hears(): Promise<void> {
    if (this.ended) throw new Error('The connection has ended')
    await this.#either('data')
  }

  /** Settles when all that was sent has been looked at, or the connection has ended; or, of course, never. */
  async settled(): Promise<void> {
    this.last = Buffer.alloc(0)
    await this.send(PINGREQ)
    while (!this.ended && !this.last.subarray(-2).equals(PONG)) await this.hears()
  }

  /** Settles when the connection has ended. */
  async gone(): Promise<void> {
    await this.#closed
  }

  /** Reads no more. */
  deafen(): void {
    this.socket.pause()
  }

  hangUp(): void {
    this.socket.destroy()
  }

  async #either(event: 'data' | 'drain'): Promise<void> {
    await Promise.race([new Promise<void>(resolve => this.socket.once(event, () => resolve())), this.#closed])
  }
}

const PONG = Buffer.of(0xd0, 0)
