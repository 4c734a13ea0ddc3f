import { createServer } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Audit } from '../../node/net/audit.js'
import { HEAD_TIMEOUTS } from '../../node/net/head-timeouts.js'
import type { GivenServer } from '../../node/net/mount.js'
import { type TlsMaterial, tlsOptions } from '../../node/net/tls.js'
import type { TlsHandshakes } from '../../node/net/tls-handshakes.js'
import { UnauthenticatedConnections } from '../../node/net/unauthenticated-connections.js'
import { Visitors } from '../../node/net/visitors.js'
import { MOST_HANDSHAKES } from './handshake.js'

/**
 * Connections beyond the sessions there may be: those in a handshake, those that come back, and those that end. With more one
 * gives way; few, where there may be few sessions.
 */
const [FEWEST_SPARE, MOST_SPARE] = [100, 2 * MOST_HANDSHAKES]
/** Of those that give way some are not closed yet. */
const CLOSING = 100

/** How a server of our own is to be. */
export interface OwnHttpOptions {
  readonly tls: TlsMaterial | undefined
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
}

/** Counts those who connect to a server of our own. */
export const visitorsOf = ({ maxConnections, maxConnectionsPerAddress }: OwnHttpOptions, audit: Audit): Visitors =>
  new Visitors({ maxConnections: maxConnections + spareOf(maxConnections) + CLOSING, maxConnectionsPerAddress }, cut =>
    audit.cut(cut),
  )

const spareOf = (maxConnections: number): number => Math.min(Math.max(2 * maxConnections, FEWEST_SPARE), MOST_SPARE)

/** Those that have no session; each is told to `audit` that gives way for another one. */
export function withoutSession({ maxConnections }: OwnHttpOptions, audit: Audit): UnauthenticatedConnections {
  const most = spareOf(maxConnections)
  return new UnauthenticatedConnections(most, ({ remoteAddress: address }) =>
    audit.cut({ reason: `there are ${most} connections without a session`, address, listener: 'hub' }),
  )
}

/** A server of our own for a hub: it knows nothing but WebSocket. */
export function ownHttp(
  { tls }: OwnHttpOptions,
  visitors: Visitors,
  handshakes: TlsHandshakes,
  unauthenticated: UnauthenticatedConnections,
): GivenServer {
  const http = tls ? createHttpsServer({ ...HEAD_TIMEOUTS, ...tlsOf(tls) }) : createServer(HEAD_TIMEOUTS)
  visitors.guard(http, 'hub')
  http.on('connection', (socket: Socket) => unauthenticated.add(socket))
  if (http instanceof HttpsServer) handshakes.watch(http)
  http.on('request', (_request, response) => {
    response.writeHead(400, { connection: 'close' }).end('This is a Web PubSub hub: use WebSocket\n')
  })
  return http
}

/** Shows another certificate to clients that connect from now on. */
export const setTls = (http: HttpsServer, tls: TlsMaterial): void => http.setSecureContext(tlsOf(tls))

const tlsOf = ({ cert, key }: TlsMaterial) => tlsOptions({ cert, key })
