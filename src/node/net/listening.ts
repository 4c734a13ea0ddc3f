import type { Server } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/**
 * Starts a server. Rejects with the system's error if the port is in use.
 *
 * @param onAcceptError - called with the error of a single accept, such as ENFILE, which must not end the process
 */
export const listen = (
  server: Server,
  port: number,
  host: string,
  onAcceptError: (error: Error) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', onAcceptError)
      resolve()
    })
  })

/** Stops listening. Resolves when all connections are closed. */
export const closeServer = (server: Server): Promise<void> =>
  // A server that never listened reports an error on close, which can be ignored.
  new Promise(resolve => server.close(() => resolve()))

/** Returns a server's address, such as `wss://host:port`. @param scheme - without TLS: `http`, `ws` */
export const addressOf = (server: Server, scheme: string, host: string): string =>
  `${scheme}${server instanceof TlsServer ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`

/** Returns the TCP port of a server, or 0 if the server does not listen on one. */
export function portOf(server: Server): number {
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}
