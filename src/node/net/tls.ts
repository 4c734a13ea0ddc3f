import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import { ArgumentError, reason } from '../../core/util/errors.js'
import { connectionName } from '../limits/network.js'

/** What a server shows of itself, and whom it believes. PEM texts. */
export interface TlsMaterial {
  /** Its certificate, and those between it and an authority that clients know. */
  readonly cert: string
  readonly key: string
  /** Authorities of client certificates; without them clients are not asked for one. */
  readonly clientCa?: string | undefined
}

/** How long a handshake may take, ms. */
const HANDSHAKE_TIMEOUT = 10_000

/**
 * Options of a server that speaks TLS 1.2 or later. A client without a certificate, or with one of another authority, is
 * let through to be refused by words. There are no tickets, by which somebody could come back whose authority is not
 * believed any more.
 */
export const tlsOptions = ({ cert, key, clientCa }: TlsMaterial): TlsOptions => ({
  cert,
  key,
  ...(clientCa !== undefined && { ca: clientCa }),
  requestCert: clientCa !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  handshakeTimeout: HANDSHAKE_TIMEOUT,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
})

/** Throws {@link ArgumentError} for what no server could use. */
export function checkTls(material: TlsMaterial): void {
  const { cert, key, clientCa } = material
  for (const [name, value] of Object.entries({ cert, key, clientCa })) {
    if (typeof value === 'string' ? value !== '' : value === undefined && name === 'clientCa') continue
    throw new ArgumentError(`Expected \`tls.${name}\` to be a PEM text`)
  }
  try {
    createSecureContext(tlsOptions(material))
  } catch (cause) {
    throw new ArgumentError(`Cannot use these keys and certificates: ${reason(cause)}`, { cause })
  }
  if (clientCa !== undefined && !clientCa.includes('-----BEGIN'))
    throw new ArgumentError('Expected `tls.clientCa` to hold a certificate in PEM')
}

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
