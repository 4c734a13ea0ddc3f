import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { connectionName } from '../../core/util/connection-name.js'

/** Sockets whose TLS handshake is under way: they are known here alone. One that fails is closed. */
export class TlsHandshakes {
  readonly #sockets = new Map<string, Socket>()

  /** Keeps the handshakes of a server in mind. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const name = connectionName(socket)
      this.#sockets.set(name, socket)
      socket.once('close', () => this.#forget(name, socket))
    })
    server.on('secureConnection', (socket: TLSSocket) => this.#sockets.delete(connectionName(socket)))
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
