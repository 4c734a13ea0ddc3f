import { Transform } from 'node:stream'
import { createWebSocketStream, WebSocket, WebSocketServer } from 'ws'

/** Size and interval of the chunks on a slow cable, which carries 2 kB/s. */
const SLOW_CHUNK_BYTES = 100
const SLOW_INTERVAL_MS = 50

/**
 * The network between the pages and the store. It forwards the WebSockets of the pages, and can be cut or slowed down.
 */
export class Cable {
  slow = false
  #cut = false
  #wsUrl
  #server = new WebSocketServer({ noServer: true })

  /** @param {string} wsUrl */
  constructor(wsUrl) {
    this.#wsUrl = wsUrl
  }

  get isCut() {
    return this.#cut
  }

  /**
   * Forwards a WebSocket from its upgrade request.
   *
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:stream').Duplex} socket
   * @param {Buffer} head
   */
  forward(request, socket, head) {
    if (this.#cut) socket.destroy()
    else this.#server.handleUpgrade(request, socket, head, page => this.#join(page))
  }

  cut() {
    this.#cut = true
    for (const page of this.#server.clients) page.terminate()
  }

  restore() {
    this.#cut = false
  }

  /** @param {WebSocket} page */
  #join(page) {
    const near = createWebSocketStream(page)
    const far = createWebSocketStream(new WebSocket(this.#wsUrl, 'mqtt', { perMessageDeflate: false }))
    const throttle = new Throttle(() => this.slow)
    const end = () => {
      for (const stream of [near, far, throttle]) stream.destroy()
      page.terminate()
    }
    for (const stream of [near, far]) stream.on('error', end).on('close', end)
    near.pipe(far).pipe(throttle).pipe(near)
  }
}

/** Forwards data immediately, or slowly in small chunks. */
class Throttle extends Transform {
  #isSlow

  /** @param {() => boolean} isSlow */
  constructor(isSlow) {
    super()
    this.#isSlow = isSlow
  }

  /**
   * @override
   * @param {Buffer} chunk
   * @param {BufferEncoding} encoding
   * @param {() => void} done
   */
  _transform(chunk, encoding, done) {
    const isSlow = this.#isSlow()
    const part = isSlow ? chunk.subarray(0, SLOW_CHUNK_BYTES) : chunk
    const rest = chunk.subarray(part.length)
    this.push(part)
    if (!isSlow) done()
    else setTimeout(() => (rest.length > 0 ? this._transform(rest, encoding, done) : done()), SLOW_INTERVAL_MS)
  }
}
