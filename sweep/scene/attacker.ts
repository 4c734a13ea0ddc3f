import { connect, type Socket } from 'node:net'
import { unsubscribe } from '../../harness/packets.js'

/** An UNSUBSCRIBE whose UNSUBACK shows that the broker has processed all earlier packets. */
const LAST_ID = 0xffff
const LAST_REQUEST = unsubscribe(['never subscribed'], LAST_ID)
const LAST_REQUEST_OF_3 = Buffer.concat([Buffer.of(0xa2, 5), Buffer.of(0xff, 0xff, 0, 1, 0x61)])
const UNSUBACK = 11
const TIMEOUT_MS = 30_000

/** What attackers have sent. */
export interface Sent {
  bytes: number
  frames: number
}

/** A connection that sends any bytes and reads only the types of the packets that it receives. */
export class Attacker {
  readonly #socket: Socket
  readonly #sent: Sent
  readonly #waiting = new Set<() => void>()
  readonly #scanner = new PacketScanner()

  private constructor(socket: Socket, sent: Sent) {
    this.#socket = socket
    this.#sent = sent
    socket.on('error', () => undefined)
    socket.on('data', data => {
      this.#scanner.read(data)
      this.#wake()
    })
    socket.on('close', () => this.#wake())
    socket.on('drain', () => this.#wake())
  }

  static async open(url: string, sent: Sent): Promise<Attacker> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    const attacker = new Attacker(socket, sent)
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return attacker
  }

  get ended(): boolean {
    return this.#socket.destroyed
  }

  /** The number of complete packets that were received. */
  get packets(): number {
    return this.#scanner.packets
  }

  /** Sends frames, and resolves when the system has accepted them or the connection has ended. */
  async send(...frames: readonly Uint8Array[]): Promise<void> {
    for (const frame of frames) {
      if (this.ended) return
      this.#sent.bytes += frame.length
      this.#sent.frames++
      this.#socket.write(frame)
      if (this.#socket.writableNeedDrain) await this.until(() => !this.#socket.writableNeedDrain)
    }
  }

  /** Resolves when the condition holds or the connection has ended. Rejects after a timeout. */
  async until(holds: () => boolean): Promise<void> {
    if (this.ended || holds()) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer in ${TIMEOUT_MS} ms`)), TIMEOUT_MS)
      const check = (): void => {
        if (!this.ended && !holds()) return
        clearTimeout(timer)
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
    })
  }

  /** Resolves when something more was received, or the connection has ended. */
  async hears(): Promise<void> {
    const { packets } = this
    await this.until(() => this.packets > packets)
  }

  /** Resolves when the broker has processed all packets, or has ended the connection. */
  async settled(version: 4 | 5 = 5): Promise<void> {
    const { last } = this.#scanner
    await this.send(version === 5 ? LAST_REQUEST : LAST_REQUEST_OF_3)
    await this.until(() => this.#scanner.last > last)
  }

  /** Stops reading. */
  deafen(): void {
    this.#socket.pause()
  }

  hangUp(): void {
    this.#socket.destroy()
  }

  #wake(): void {
    for (const check of Array.from(this.#waiting)) check()
  }
}

/** Counts packets in a stream, whose bodies it does not keep. */
class PacketScanner {
  packets = 0
  /** The number of UNSUBACKs of the last request. */
  last = 0
  #head: Uint8Array = Buffer.alloc(0)
  #skip = 0

  read(data: Buffer): void {
    let at = Math.min(this.#skip, data.length)
    this.#skip -= at
    let rest: Buffer = at === 0 ? Buffer.concat([this.#head, data]) : data.subarray(at)
    this.#head = Buffer.alloc(0)
    for (at = this.#next(rest); at > 0; at = this.#next(rest)) {
      this.#skip = Math.max(0, at - rest.length)
      rest = rest.subarray(at)
    }
    // The start of a packet whose length is incomplete.
    this.#head = rest
  }

  /** Returns the length of the packet at the start, or 0 if the bytes do not show it. */
  #next(data: Buffer): number {
    let length = 0
    for (let at = 1; at < Math.min(5, data.length); at++) {
      const byte = data[at] ?? 0
      length += (byte & 0x7f) * 128 ** (at - 1)
      if (byte >= 128) continue
      const type = (data[0] ?? 0) >> 4
      if (type === UNSUBACK && data.length < at + 3) return 0
      this.packets++
      if (type === UNSUBACK && data.readUInt16BE(at + 1) === LAST_ID) this.last++
      return at + 1 + length
    }
    return 0
  }
}
