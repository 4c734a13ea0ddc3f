import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'

/** Sockets whose TLS handshake is under way: they are known here alone. One that fails is closed. */
export class TlsHandshakes {
  readonly #sockets = new Map<string, Socket>()

  /** Keeps the handshakes of a server in mind. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket)
      this.#sockets.set(name, socket)
      socket.once('close', () => this.#forget(name, socket))
    })
    server.on('secureConnection', (socket: TLSSocket) => this.#sockets.delete(nameOf(socket)))
    // Node leaves that to whoever listens, also when the handshake takes longer than it may.
    server.on('tlsClientError', (_error: Error, socket: TLSSocket) => void socket.destroy())
  }

  /** Ends them all. */
  destroy(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #forget(name: string, socket: Socket): void {
    if (this.#sockets.get(name) === socket) this.#sockets.delete(name)
  }
}

/** Names a connection: the socket that is encrypted is another object than the one below it. */
export const nameOf = ({ localPort, remoteAddress, remotePort }: Socket): string =>
  `${localPort} ${remoteAddress} ${remotePort}`
