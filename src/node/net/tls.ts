import { constants, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import { serverConnectionChannel } from '../../core/diagnostics/server-channels.js'
import { ArgumentError, reason } from '../../core/util/errors.js'
import { connectionName } from '../limits/network.js'
import { ClientHandshakes } from './client-handshakes.js'

/** The certificates and the key of a server, as PEM texts. */
export interface TlsMaterial {
  /** The server certificate, followed by the intermediate ones. */
  readonly cert: string
  readonly key: string
  /** The authorities of client certificates. Without them, no client certificate is requested. */
  readonly clientCa?: string | undefined
}

const HANDSHAKE_TIMEOUT_MS = 10_000

/**
 * Returns a server's options for TLS 1.2 or later. A client with a missing or untrusted certificate passes the
 * handshake, so that the server can refuse the client with a message. Session tickets are disabled, because a client
 * could resume although its authority is no longer trusted.
 */
export const tlsOptions = ({ cert, key, clientCa }: TlsMaterial): TlsOptions => ({
  cert,
  key,
  ...(clientCa !== undefined && { ca: clientCa }),
  requestCert: clientCa !== undefined,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
})

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
  if (clientCa !== undefined && readAuthorities(clientCa).length === 0)
    throw new ArgumentError('Expected `tls.clientCa` to hold a certificate in PEM')
}

function readAuthorities(clientCa: string): readonly X509Certificate[] {
  try {
    return authoritiesOf({ clientCa })
  } catch (cause) {
    throw new ArgumentError(`Expected \`tls.clientCa\` to hold certificates in PEM: ${reason(cause)}`, { cause })
  }
}

/** Returns the authorities of client certificates. */
export const authoritiesOf = ({ clientCa = '' }: Pick<TlsMaterial, 'clientCa'>): readonly X509Certificate[] =>
  certificatesOf(clientCa)

/** The period in which all certificates of a chain are valid, in ms since the Unix epoch. */
export interface Validity {
  readonly notBefore: number
  readonly notAfter: number
}

/** Returns the validity of a chain in PEM that {@link checkTls} has accepted. */
export function validityOf(chain: string): Validity {
  const certificates = certificatesOf(chain)
  return {
    notBefore: Math.max(...certificates.map(({ validFrom }) => Date.parse(validFrom))),
    notAfter: Math.min(...certificates.map(({ validTo }) => Date.parse(validTo))),
  }
}

const certificatesOf = (chain: string): readonly X509Certificate[] =>
  (chain.match(PEM_CERTIFICATE) ?? []).map(pem => new X509Certificate(pem))

const PEM_CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : error.name)

/** Sockets in a TLS handshake, which Node does not expose. The socket of a failed handshake is closed. */
export class TlsHandshakes {
  readonly #sockets = new Map<string, Socket>()
  readonly #clientHandshakes = new ClientHandshakes()
  #isDestroyed = false

  /**
   * @param listener - name of the server in events
   * @param requestsCertificates - whether the server requests client certificates, which limits its handshakes
   */
  watch(server: Server, listener: string, requestsCertificates = false): void {
    if (requestsCertificates) this.#clientHandshakes.guard(server)
    server.on('connection', (socket: Socket) => {
      const name = connectionName(socket)
      this.#sockets.set(name, socket)
      socket.once('close', () => this.#forget(name, socket))
    })
    server.on('secureConnection', (socket: TLSSocket) => this.#sockets.delete(connectionName(socket)))
    // Node leaves closing the socket to the application, even after a handshake timeout.
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      if (!this.#isDestroyed && serverConnectionChannel.hasSubscribers) {
        const address = socket.remoteAddress
        serverConnectionChannel.publish({ type: 'handshake-failed', address, listener, reason: codeOf(error) })
      }
      socket.destroy()
    })
  }

  /** Closes the sockets of a server that is closing. Their handshakes are not reported as failed. */
  destroy(): void {
    this.#isDestroyed = true
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #forget(name: string, socket: Socket): void {
    if (this.#sockets.get(name) === socket) this.#sockets.delete(name)
  }
}
