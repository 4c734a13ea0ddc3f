import { Transform } from 'node:stream'
import { createWebSocketStream, WebSocket, WebSocketServer } from 'ws'

/** What a slow cable lets through, bytes, and how often, ms: 2 kB/s. */
const DROP = 100
const PAUSE = 50

/** The network between the pages and the store: it leads their WebSockets on, can be cut, and can be slow. */
export class Cable {
  slow = false
  #cut = false
  #wsUrl
  #door = new WebSocketServer({ noServer: true })

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
  lead(request, socket, head) {
    if (this.#cut) socket.destroy()
    else this.#door.handleUpgrade(request, socket, head, page => this.#join(page))
  }

  cut() {
    this.#cut = true
    for (const page of this.#door.clients) page.terminate()
  }

  restore() {
    this.#cut = false
  }

  /** @param {WebSocket} page */
  #join(page) {
    const near = createWebSocketStream(page)
    const far = createWebSocketStream(new WebSocket(this.#wsUrl, 'mqtt', { perMessageDeflate: false }))
    const trickle = new Trickle(() => this.slow)
    const end = () => {
      for (const stream of [near, far, trickle]) stream.destroy()
      page.terminate()
    }
    for (const stream of [near, far]) stream.on('error', end).on('close', end)
    near.pipe(far).pipe(trickle).pipe(near)
  }
}

/** Lets everything through, or a drop at a time. */
class Trickle extends Transform {
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
    const slow = this.#isSlow()
    const drop = slow ? chunk.subarray(0, DROP) : chunk
    const rest = chunk.subarray(drop.length)
    this.push(drop)
    if (!slow) done()
    else setTimeout(() => (rest.length > 0 ? this._transform(rest, encoding, done) : done()), PAUSE)
  }
}
