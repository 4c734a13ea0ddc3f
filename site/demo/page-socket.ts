import { FrameCutter } from '../../src/core/mqtt5/frame-cutter.js'
import type { BrokerCore } from '../../src/server/broker/core/broker-core.js'
import type { Connection } from '../../src/server/broker/session/connection.js'
import type { Link } from '../../src/server/broker/session/link.js'

const [CONNECTING, OPEN, CLOSED] = [0, 1, 3]

/** A network connection within a page: a WebSocket for mqtt.js, and the link of the broker behind it. */
export class PageSocket extends EventTarget implements Link {
  readonly OPEN = OPEN
  readonly bufferedAmount = 0
  binaryType = 'arraybuffer'
  readyState = CONNECTING
  readonly remoteAddress = undefined
  readonly transport = 'websocket'
  readonly unsentBytes = 0
  readonly heldBytes = 0
  readonly transientBytes = 0
  readonly #onClosed: () => void
  #connection: Connection | undefined
  readonly #frames: FrameCutter
  readonly #unsent: Uint8Array[] = []
  /** The caller fills allocated memory before the task ends, and the task after it sends. */
  readonly writeBuffer = {
    block: new Uint8Array(0),
    allocate: (bytes: number): number => {
      this.writeBuffer.block = new Uint8Array(bytes)
      this.write(this.writeBuffer.block)
      return 0
    },
  }

  /** @param broker - the broker to connect to, or `undefined` if the network is down */
  constructor(broker: BrokerCore | undefined, maxPacketSize: number, onClosed: () => void) {
    super()
    this.#onClosed = onClosed
    this.#frames = new FrameCutter(maxPacketSize)
    setTimeout(() => {
      if (broker === undefined || this.readyState === CLOSED) {
        this.cut()
        return
      }
      this.#connection = broker.accept(this)
      this.readyState = OPEN
      this.dispatchEvent(new Event('open'))
    })
  }

  // The side of the client.

  send(chunk: Uint8Array): void {
    if (this.#connection === undefined || this.readyState !== OPEN) return
    this.#connection.recordActivity()
    // mqtt.js may use its buffer again.
    this.#frames.push(chunk.slice())
    this.wake()
  }

  close(): void {
    this.cut()
  }

  /** Breaks the connection. Both sides learn only that it is closed. */
  cut(): void {
    if (this.readyState === CLOSED) return
    this.readyState = CLOSED
    this.#onClosed()
    this.#connection?.onNetworkClosed()
    this.dispatchEvent(new Event('close'))
  }

  // The side of the broker.

  write(piece: Uint8Array): void {
    if (this.#unsent.push(piece) === 1) queueMicrotask(() => this.#flush())
  }

  isLarge(): boolean {
    return false
  }

  delayFlush(): void {}

  wake(): void {
    const connection = this.#connection
    if (connection === undefined) return
    try {
      while (this.readyState === OPEN) {
        if (connection.processNext()) continue
        const frame = this.#frames.next()
        if (frame === undefined) return
        connection.receive(frame)
      }
    } catch (error) {
      connection.fail(error)
    }
  }

  end(): void {
    this.#flush()
    setTimeout(() => this.cut())
  }

  destroy(): void {
    this.#unsent.length = 0
    this.cut()
  }

  #flush(): void {
    for (const piece of this.#unsent.splice(0)) {
      if (this.readyState !== OPEN) return
      this.dispatchEvent(new MessageEvent('message', { data: piece.slice().buffer }))
    }
  }
}
