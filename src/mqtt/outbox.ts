import { concatBytes } from '../bytes.js'
import { afterIo } from '../clock.js'

/** What a client's stream can do; a browser's need not be able to cork. */
interface Stream {
  write(chunk: Uint8Array): unknown
  cork?(): void
  uncork?(): void
}

/** As much leaves without waiting for the end of the turn, bytes. */
const LARGEST_PIECE = 8_192

/**
 * Lets what is written in one turn of the event loop leave as one piece: one system call over TCP, one frame over
 * WebSocket. The writes of many small packets are a quarter of a busy client's time otherwise.
 */
export class Outbox {
  #stream: Stream | undefined
  #packets: Uint8Array[] = []
  #bytes = 0

  /** Adds a packet to what leaves at the end of this turn. */
  add(stream: Stream, packet: Uint8Array): void {
    this.hold(stream)
    if (this.#bytes + packet.length > LARGEST_PIECE) this.#release()
    this.#packets.push(packet)
    this.#bytes += packet.length
  }

  /** Holds back what others write to the stream until the end of this turn. */
  hold(stream: Stream): void {
    if (this.#stream === stream) return
    this.flush()
    this.#stream = stream
    stream.cork?.()
    afterIo(() => {
      if (this.#stream === stream) this.flush()
    })
  }

  /** Lets it leave now. */
  flush(): void {
    this.#write()
    const stream = this.#stream
    this.#stream = undefined
    stream?.uncork?.()
  }

  /** Not all at the end: whoever is at the other end may begin. */
  #release(): void {
    this.#write()
    this.#stream?.uncork?.()
    this.#stream?.cork?.()
  }

  #write(): void {
    if (this.#packets.length === 0) return
    const packets = this.#packets
    this.#packets = []
    this.#bytes = 0
    const [first] = packets
    this.#stream?.write(first !== undefined && packets.length === 1 ? first : concatBytes(packets))
  }
}
