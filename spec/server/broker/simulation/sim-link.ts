import mqttPacket, { type Packet, type Parser } from 'mqtt-packet'
import type { WriteBuffer } from '../../../../src/core/mqtt5/publish-encoder.js'
import type { Link } from '../../../../src/server/broker/session/link.js'

export interface Sent {
  readonly packet: Packet
  readonly size: number
}

export interface LinkObserver {
  sent(link: SimLink, sent: Sent): void
  onEnded(link: SimLink): void
  reportViolation(what: string): void
}

/** The size in bytes from which payloads are written without a copy. */
const LARGE_BYTES = 100

/** A network connection whose packets move one at a time. */
export class SimLink implements Link {
  readonly remoteAddress = undefined
  readonly transport = 'tcp'
  readonly version: 4 | 5
  /** The packets on their way to the broker and to the client. */
  readonly up: Packet[] = []
  readonly down: Sent[] = []
  unsentBytes = 0
  readonly heldBytes = 0
  readonly transientBytes = 0
  isOver = false
  /** Whether the client sends nothing more. If `isGone` is set, the client also receives nothing. */
  hasFinished = false
  isGone = false
  onWake = (): void => undefined
  readonly #observer: LinkObserver
  readonly #parser: Parser
  #filling: Uint8Array | undefined

  constructor(version: 4 | 5, observer: LinkObserver) {
    this.version = version
    this.#observer = observer
    this.#parser = mqttPacket.parser({ protocolVersion: version })
    this.#parser.on('packet', packet => this.#parsed(packet))
    this.#parser.on('error', error => observer.reportViolation(`the broker wrote an invalid packet: ${error.message}`))
  }

  /** A packet is complete when the next one starts. */
  readonly writeBuffer: WriteBuffer = new FreshWriteBuffer(bytes => {
    this.flush()
    this.#filling = bytes
  })

  write(piece: Uint8Array): void {
    this.flush()
    this.#parse(piece)
  }

  isLarge(piece: Uint8Array): boolean {
    return piece.length > LARGE_BYTES
  }

  delayFlush(): void {}

  wake(): void {
    this.onWake()
  }

  end(): void {
    this.flush()
    if (this.isOver) return
    this.isOver = true
    this.#observer.onEnded(this)
  }

  destroy(): void {
    this.end()
    this.dropDownstream()
  }

  /** Decodes the reserved memory, which is filled by the time of this call. */
  flush(): void {
    const piece = this.#filling
    this.#filling = undefined
    if (piece !== undefined) this.#parse(piece)
  }

  take(): Packet | undefined {
    const sent = this.down.shift()
    this.unsentBytes -= sent?.size ?? 0
    return sent?.packet
  }

  dropDownstream(): void {
    this.down.length = 0
    this.unsentBytes = 0
  }

  #parse(piece: Uint8Array): void {
    if (!this.isOver) this.#parser.parse(Buffer.from(piece))
  }

  #parsed(packet: Packet): void {
    const remaining = packet.length ?? 0
    const size = 1 + (remaining < 128 ? 1 : 2) + remaining
    const sent = { packet, size }
    this.#observer.sent(this, sent)
    if (this.isGone) return
    this.down.push(sent)
    this.unsentBytes += size
  }
}

/** A write buffer that allocates separate memory for each packet. */
class FreshWriteBuffer implements WriteBuffer {
  block = new Uint8Array(0)
  readonly #begun: (bytes: Uint8Array) => void

  constructor(begun: (bytes: Uint8Array) => void) {
    this.#begun = begun
  }

  allocate(bytes: number): number {
    this.block = new Uint8Array(bytes)
    this.#begun(this.block)
    return 0
  }
}
