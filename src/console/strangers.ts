import type { Socket } from 'node:net'
import { nameOf } from '../tls/tls-handshakes.js'

/**
 * Connections that have not shown that they may ask. There is room for so many; one more takes the place of the one that
 * has been there longest. So those who take their time, or do nothing, never keep out one that has something to say:
 * that is said within moments of connecting. A TLS handshake counts as well.
 */
export class Strangers {
  readonly #most: number
  readonly #cut: (socket: Socket) => void
  readonly #sockets = new Map<string, Socket>()

  /** @param cut - is told of each that is ended */
  constructor(most: number, cut: (socket: Socket) => void = () => undefined) {
    this.#most = most
    this.#cut = cut
  }

  /** Takes in a connection, and ends the oldest if that is one too many. */
  meet(socket: Socket): void {
    const name = nameOf(socket)
    this.#sockets.set(name, socket)
    socket.once('close', () => {
      if (this.#sockets.get(name) === socket) this.#sockets.delete(name)
    })
    if (this.#sockets.size <= this.#most) return
    const [oldest] = this.#sockets.values()
    if (oldest === undefined) return
    this.#cut(oldest)
    oldest.destroy()
  }

  /** The connection, below TLS or above, is of somebody who may ask; it stays as long as it likes. */
  know(socket: Socket): void {
    this.#sockets.delete(nameOf(socket))
  }
}
