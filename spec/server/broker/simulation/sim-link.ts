import mqttPacket, { type Packet, type Parser } from 'mqtt-packet'
import type { Room } from '../../../../src/core/mqtt5/publish-encoder.js'
import type { Link } from '../../../../src/server/broker/session/link.js'

/** A packet on its way to a client, and its size, bytes. */
export interface Sent {
  readonly packet: Packet
  readonly size: number
}

/** What happens at the broker's end of a link. */
export interface LinkObserver {
  sent(link: SimLink, sent: Sent): void
  /** The broker ends it. */
  ended(link: SimLink): void
  complain(what: string): void
}

/** What a payload is that is written without a copy, bytes. */
const LARGE = 100

/** A network connection on which packets stay until they are moved, one by one. */
export class SimLink implements Link {
  readonly remoteAddress = undefined
  readonly transport = 'tcp'
  readonly version: 4 | 5
  /** On their way to the broker, and to the client. */
  readonly up: Packet[] = []
  readonly down: Sent[] = []
  unsentBytes = 0
  readonly heldBytes = 0
  readonly transientBytes = 0
  /** The broker has ended it. */
  over = false
  /** The client sends nothing more; when it is `gone`, it takes nothing, either. */
  finished = false
  gone = false
  /** Goes on with what waits. */
  woken = (): void => undefined
  readonly #observer: LinkObserver
  readonly #parser: Parser
  #filling: Uint8Array | undefined

  constructor(version: 4 | 5, observer: LinkObserver) {
    this.version = version
    this.#observer = observer
    this.#parser = mqttPacket.parser({ protocolVersion: version })
    this.#parser.on('packet', packet => this.#parsed(packet))
    this.#parser.on('error', error => observer.complain(`the broker wrote what is no packet: ${error.message}`))
  }

  /** A packet is complete when the next one begins. */
  readonly writeBuffer: Room = new FreshRoom(bytes => {
    this.flush()
    this.#filling = bytes
  })

  write(piece: Uint8Array): void {
    this.flush()
    this.#parse(piece)
  }

  isLarge(piece: Uint8Array): boolean {
    return piece.length > LARGE
  }

  delayFlush(): void {}

  wake(): void {
    this.woken()
  }

  end(): void {
    this.flush()
    if (this.over) return
    this.over = true
    this.#observer.ended(this)
  }

  destroy(): void {
    this.end()
    this.forget()
  }

  /** What was given room for is filled by now. */
  flush(): void {
    const piece = this.#filling
    this.#filling = undefined
    if (piece !== undefined) this.#parse(piece)
  }

  /** Takes the next packet to the client. */
  take(): Packet | undefined {
    const sent = this.down.shift()
    this.unsentBytes -= sent?.size ?? 0
    return sent?.packet
  }

  /** What is on its way to the client is lost. */
  forget(): void {
    this.down.length = 0
    this.unsentBytes = 0
  }

  #parse(piece: Uint8Array): void {
    if (!this.over) this.#parser.parse(Buffer.from(piece))
  }

  #parsed(packet: Packet): void {
    const remaining = packet.length ?? 0
    const size = 1 + (remaining < 128 ? 1 : 2) + remaining
    const sent = { packet, size }
    this.#observer.sent(this, sent)
    if (this.gone) return
    this.down.push(sent)
    this.unsentBytes += size
  }
}

/** Memory of its own for each packet. */
class FreshRoom implements Room {
  block = new Uint8Array(0)
  readonly #begun: (bytes: Uint8Array) => void

  constructor(begun: (bytes: Uint8Array) => void) {
    this.#begun = begun
  }

  take(bytes: number): number {
    this.block = new Uint8Array(bytes)
    this.#begun(this.block)
    return 0
  }
}
