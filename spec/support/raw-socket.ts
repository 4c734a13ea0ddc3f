import { connect, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { unsubscribe } from './packets.js'
import { bytes } from './words.js'

/** The maximum number of recorded bytes. */
const MAX_KEPT_BYTES = 1_048_576

/** An UNSUBSCRIBE of a filter that no test uses, and its UNSUBACK with the reason code `noSubscriptionExisted`. */
const LAST_REQUEST = unsubscribe(['never subscribed'], 0xffff)
const LAST_RESPONSE = Buffer.of(0xb0, 4, 0xff, 0xff, 0, 0x11)

/** Opens a TCP connection. */
export function connectTcp(url: string): Socket {
  return connect({ ...addressOf(url), noDelay: true })
}

export function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/[[\]]/g, ''), port: Number(port) }
}

/** A connection without a protocol, which closes at the end of the test. It sends any bytes and can stop reading. */
export class RawSocket {
  readonly socket: Duplex
  /** The error that ended the connection. */
  failure: Error | undefined
  /** Resolves when the connection has ended for any reason. */
  readonly closed: Promise<void>
  /** The number of received bytes. */
  received = 0
  /** The bytes that were received last. */
  last: Buffer = Buffer.alloc(0)
  #first: Buffer[] = []
  readonly #waiting = new Set<() => void>()

  protected constructor(socket: Duplex) {
    this.socket = socket
    this.socket.on('error', error => {
      this.failure = error
    })
    this.socket.on('data', data => {
      if (this.received < MAX_KEPT_BYTES) this.#first.push(data)
      this.received += data.length
      this.last = data
      this.read(data)
      this.#wake()
    })
    this.socket.on('drain', () => this.#wake())
    this.closed = new Promise(resolve =>
      this.socket.once('close', () => {
        this.#wake()
        resolve()
      }),
    )
    onTestFinished(() => void this.socket.destroy())
  }

  /** Opens a connection without sending anything. */
  static async open(url: string): Promise<RawSocket> {
    const raw = new RawSocket(connectTcp(url))
    await new Promise<void>(resolve => raw.socket.once('connect', resolve))
    return raw
  }

  get ended(): boolean {
    return this.socket.destroyed
  }

  /** Resolves when the operating system has accepted the bytes, or the connection has ended. */
  async send(...pieces: readonly (Uint8Array | string)[]): Promise<void> {
    for (const piece of pieces) {
      if (this.ended) return
      this.socket.write(typeof piece === 'string' ? bytes(piece) : piece)
      await this.#until(() => !this.socket.writableNeedDrain)
    }
  }

  /** Resolves when the condition holds or the connection has ended. */
  async until(holds: () => boolean): Promise<void> {
    await this.#until(holds)
  }

  /** Returns the first received bytes when there are `count`, or when the connection has ended. */
  async first(count = 0): Promise<Buffer> {
    await this.until(() => this.received >= count)
    return Buffer.concat(this.#first)
  }

  /** Resolves when data arrives or the connection ends. Rejects if the connection has already ended. */
  async hears(): Promise<void> {
    if (this.ended) throw new Error('The connection has ended')
    const before = this.received
    await this.until(() => this.received > before)
  }

  /**
   * Resolves when the broker has processed everything that was sent and has sent the retained messages, or has ended
   * the connection. A PINGREQ would not show this, because the broker answers it immediately.
   */
  async settled(): Promise<void> {
    this.last = Buffer.alloc(0)
    await this.send(LAST_REQUEST)
    await this.until(() => this.last.subarray(-LAST_RESPONSE.length).equals(LAST_RESPONSE))
  }

  /** Stops reading. */
  deafen(): void {
    this.socket.pause()
  }

  hangUp(): void {
    this.socket.destroy()
  }

  /** Breaks a TCP connection with a reset. */
  reset(): void {
    if (this.socket instanceof Socket) this.socket.resetAndDestroy()
  }

  /** Called with received bytes, for subclasses that decode them. */
  protected read(_data: Buffer): void {}

  async #until(holds: () => boolean): Promise<void> {
    while (!this.ended && !holds()) await new Promise<void>(resolve => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
