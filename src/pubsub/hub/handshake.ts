import type { IncomingHttpHeaders } from 'node:http'
import type { Claim } from './identity.js'
import { hubKey, isHubName } from './names.js'

/** What a client asks for in its HTTP request. */
export interface Handshake {
  /** Name of the hub, in lower case. */
  readonly hub: string
  /** Subprotocols it speaks, best first, in its own spelling. */
  readonly subprotocols: readonly string[]
  readonly query: URLSearchParams
  /** The session it wants back, if it has had one. */
  readonly claim: Claim | undefined
  /** From the URL or the `Authorization` header. */
  readonly accessToken: string | undefined
}

/** Why a handshake fails, as an HTTP answer. */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 500 | 503
  readonly text: string
}

/**
 * Reads the request of a client: `{path}/hubs/{hub}` or `{path}/?hub={hub}`. It wants a session back if it names a
 * connection, and then its access token does not matter. (Client specification, "Connection URL".)
 *
 * @param path - the beginning of the path, without a slash at the end
 */
export function readHandshake(url: string, headers: IncomingHttpHeaders, path: string): Handshake | Refusal {
  // A path that begins with two slashes would be read as a host.
  const base = 'ws://hub'
  if (!URL.canParse(base + url)) return { status: 400, text: 'This is no URL' }
  const { pathname, searchParams: query } = new URL(base + url)
  const hub = hubOf(pathname, query, path)
  if (hub === undefined) return { status: 404, text: `Connect to ${path}/hubs/{hub}` }
  if (!isHubName(hub)) return { status: 400, text: 'This is no name of a hub' }
  const connectionId = query.get('awps_connection_id') ?? ''
  return {
    hub: hubKey(hub),
    subprotocols: listOf(headers['sec-websocket-protocol']),
    query,
    claim: connectionId === '' ? undefined : { connectionId, token: query.get('awps_reconnection_token') ?? '' },
    accessToken: query.get('access_token') || bearerOf(headers.authorization),
  }
}

/** Empty when the query has none, `undefined` when this is another page. */
function hubOf(pathname: string, query: URLSearchParams, path: string): string | undefined {
  if (pathname === path || pathname === `${path}/`) return query.get('hub') ?? ''
  const prefix = `${path}/hubs/`
  return pathname.startsWith(prefix) ? decoded(pathname.slice(prefix.length)) : undefined
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    // Whatever it is meant to be, it is no name.
    return ''
  }
}

const listOf = (header: string | undefined): string[] =>
  (header ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')

const bearerOf = (header: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]
