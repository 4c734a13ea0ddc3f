import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'

/** Sockets whose TLS handshake is under way: they are known here alone. */
export class Handshakes {
  readonly #sockets = new Map<string, Socket>()

  /** Keeps the handshakes of a server in mind. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket)
      this.#sockets.set(name, socket)
      socket.once('close', () => this.#forget(name, socket))
    })
    server.on('secureConnection', (socket: TLSSocket) => this.#sockets.delete(nameOf(socket)))
  }

  /** Ends them all. */
  destroy(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #forget(name: string, socket: Socket): void {
    if (this.#sockets.get(name) === socket) this.#sockets.delete(name)
  }
}

// The one that is encrypted is another object, of the same connection.
const nameOf = ({ localPort, remoteAddress, remotePort }: Socket): string =>
  `${localPort} ${remoteAddress} ${remotePort}`
