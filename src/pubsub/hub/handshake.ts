import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../core/util/clock.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { AddressSlots } from '../../node/net/unauthenticated-connections.js'
import { hubKey, isHubName } from '../wire/rules.js'
import type { SessionClaim } from './identity.js'

/**
 * The time in ms that the application may take to authenticate a client, and the number of decisions that may be
 * pending.
 */
const HANDSHAKE_TIMEOUT_MS = 10_000
export const MAX_PENDING_HANDSHAKES = 1_000

export interface Handshake {
  /** The hub's name, in lower case. */
  readonly hub: string
  /** The offered subprotocols in the client's order of preference and spelling. */
  readonly subprotocols: readonly string[]
  readonly query: URLSearchParams
  readonly claim: SessionClaim | undefined
  /** The access token from the URL or the `Authorization` header. */
  readonly accessToken: string | undefined
}

export interface HandshakeRefusal {
  readonly status: 400 | 401 | 403 | 404 | 429 | 500 | 503
  readonly text: string
  /** The internal reason, which appears only in the audit log. */
  readonly internalReason?: string
}

/**
 * Parses a client's request: `{path}/hubs/{hub}` or `{path}/?hub={hub}`. A request with a connection id is a recovery,
 * for which the access token is ignored. (Client specification, "Connection URL".)
 *
 * @param path - prefix of the path, without a trailing slash
 */
export function readHandshake(url: string, headers: IncomingHttpHeaders, path: string): Handshake | HandshakeRefusal {
  // Without the base, a leading `//` would be parsed as a host.
  const base = 'ws://hub'
  if (!URL.canParse(base + url)) return { status: 400, text: 'The URL is not valid' }
  const { pathname, searchParams: query } = new URL(base + url)
  const hub = hubName(pathname, query, path)
  if (hub === undefined) return { status: 404, text: `Connect to ${path}/hubs/{hub}` }
  if (!isHubName(hub)) return { status: 400, text: 'The name of the hub is not valid' }
  const connectionId = query.get('awps_connection_id') ?? ''
  return {
    hub: hubKey(hub),
    subprotocols: parseList(headers['sec-websocket-protocol']),
    query,
    claim: connectionId === '' ? undefined : { connectionId, token: query.get('awps_reconnection_token') ?? '' },
    accessToken: query.get('access_token') || bearerToken(headers.authorization),
  }
}

/** Returns the hub's name, an empty name if the query has none, or `undefined` for another path. */
function hubName(pathname: string, query: URLSearchParams, path: string): string | undefined {
  if (pathname === path || pathname === `${path}/`) return query.get('hub') ?? ''
  const prefix = `${path}/hubs/`
  return pathname.startsWith(prefix) ? decodeSegment(pathname.slice(prefix.length)) : undefined
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    // The path contains an invalid escape, so it has no valid name.
    return ''
  }
}

const parseList = (header: string | undefined): string[] =>
  (header ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')

const bearerToken = (header: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]

/** Responds to a WebSocket handshake with an HTTP error and closes the connection. */
export function refuseHandshake(stream: Duplex, { status, text }: HandshakeRefusal): void {
  const body = `${text}\n`
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  stream.once('finish', () => stream.destroy())
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/**
 * Limits the pending handshakes. At the limit, the address with the most pending handshakes loses a handshake, so that
 * an address blocks only its own clients.
 */
export class PendingHandshakes {
  readonly #timeouts: Timeouts<() => void>
  readonly #clock: Clock
  readonly #addressSlots = new AddressSlots<PendingHandshake>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timeouts = new Timeouts(clock, abandon => abandon())
  }

  get count(): number {
    return this.#addressSlots.size
  }

  /** Returns whether a handshake of this address may wait. Another address may lose a handshake for it. */
  hasRoomFor(address: string): boolean {
    return this.count < MAX_PENDING_HANDSHAKES || this.#evictionCandidate(address) !== undefined
  }

  /** Waits for a decision. Resolves with `undefined` after a timeout, or if the handshake was evicted. */
  async wait<T>(stream: Duplex, address: string, decision: Promise<T>): Promise<T | undefined> {
    let resolveAbandoned = (): void => undefined
    const abandoned = new Promise<undefined>(resolve => {
      resolveAbandoned = () => resolve(undefined)
    })
    if (this.count >= MAX_PENDING_HANDSHAKES) this.#evictionCandidate(address)?.abandon()
    const pending = {
      stream,
      abandon: () => {
        this.#addressSlots.delete(address, pending)
        resolveAbandoned()
      },
    }
    this.#addressSlots.add(address, pending)
    const deadline = this.#timeouts.add(this.#clock.monotonic() + HANDSHAKE_TIMEOUT_MS, pending.abandon)
    try {
      return await Promise.race([decision, abandoned])
    } finally {
      this.#timeouts.remove(deadline)
      this.#addressSlots.delete(address, pending)
    }
  }

  close(): void {
    for (
      let next = this.#addressSlots.evictionCandidate();
      next !== undefined;
      next = this.#addressSlots.evictionCandidate()
    ) {
      next.stream.destroy()
      next.abandon()
    }
  }

  #evictionCandidate(address: string): PendingHandshake | undefined {
    return this.#addressSlots.evictionCandidate(this.#addressSlots.countOf(address) + 1)
  }
}

interface PendingHandshake {
  readonly stream: Duplex
  readonly abandon: () => void
}
