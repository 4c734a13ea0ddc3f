import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { bytes } from './words.js'

/** A TCP connection without any protocol, closed at the end of the test. */
export class RawSocket {
  readonly socket: Socket
  /** Settles when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>
  #received = Buffer.alloc(0)
  readonly #waiting = new Set<() => void>()

  private constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    socket.on('data', data => {
      this.#received = Buffer.concat([this.#received, data])
      for (const wake of this.#waiting) wake()
      this.#waiting.clear()
    })
  }

  static async open(url: string): Promise<RawSocket> {
    const { hostname, port } = new URL(url)
    const raw = new RawSocket(connect(Number(port), hostname))
    onTestFinished(() => {
      raw.socket.destroy()
    })
    await new Promise<void>(resolve => raw.socket.once('connect', resolve))
    raw.socket.setNoDelay(true)
    return raw
  }

  /** Settles when the bytes are with the operating system. */
  async write(data: Buffer | string): Promise<void> {
    await new Promise<void>(resolve =>
      this.socket.write(typeof data === 'string' ? bytes(data) : data, () => resolve()),
    )
  }

  /** So many bytes of what came, once they are there. */
  async received(count: number): Promise<Buffer> {
    while (this.#received.length < count) await new Promise<void>(resolve => this.#waiting.add(resolve))
    return this.#received
  }
}
