import type { Socket } from 'node:net'

/**
 * Connections that have not shown that they may ask. There is room for so many; one more takes the place of the one that
 * has been there longest. So those who take their time, or do nothing, never keep out one that has something to say:
 * that is said within moments of connecting.
 */
export class Strangers {
  readonly #most: number
  readonly #sockets = new Set<Socket>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes in a connection, and ends the oldest if that is one too many. */
  meet(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    if (this.#sockets.size <= this.#most) return
    const [oldest] = this.#sockets
    oldest?.destroy()
  }

  /** The connection is of somebody who may ask; it stays as long as it likes. */
  know(socket: Socket): void {
    this.#sockets.delete(socket)
  }
}
