import { createServer } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { Audit } from '../../listeners/audit.js'
import { HEAD_TIMEOUTS } from '../../listeners/head-timeouts.js'
import type { GivenServer } from '../../listeners/mount.js'
import { Visitors } from '../../listeners/visitors.js'
import { type TlsMaterial, tlsOptions } from '../../tls/tls.js'
import type { TlsHandshakes } from '../../tls/tls-handshakes.js'
import { MOST_HANDSHAKES } from './handshake.js'

/** Connections beyond the sessions there may be: those in a handshake, and as many that come back. */
const SPARE_CONNECTIONS = 2 * MOST_HANDSHAKES

/** How a server of our own is to be. */
export interface OwnHttpOptions {
  readonly tls: TlsMaterial | undefined
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
}

/** Counts those who connect to a server of our own. */
export const visitorsOf = ({ maxConnections, maxConnectionsPerAddress }: OwnHttpOptions, audit: Audit): Visitors =>
  new Visitors({ maxConnections: maxConnections + SPARE_CONNECTIONS, maxConnectionsPerAddress }, cut => audit.cut(cut))

/** A server of our own for a hub: it knows nothing but WebSocket. */
export function ownHttp({ tls }: OwnHttpOptions, visitors: Visitors, handshakes: TlsHandshakes): GivenServer {
  const http = tls ? createHttpsServer({ ...HEAD_TIMEOUTS, ...tlsOf(tls) }) : createServer(HEAD_TIMEOUTS)
  visitors.guard(http, 'hub')
  if (http instanceof HttpsServer) handshakes.watch(http)
  http.on('request', (_request, response) => {
    response.writeHead(400, { connection: 'close' }).end('This is a Web PubSub hub: use WebSocket\n')
  })
  return http
}

/** Shows another certificate to clients that connect from now on. */
export const setTls = (http: HttpsServer, tls: TlsMaterial): void => http.setSecureContext(tlsOf(tls))

const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
