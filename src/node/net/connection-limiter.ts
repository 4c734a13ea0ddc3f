import { isIP, type Server, Socket } from 'node:net'
import { isThisMachine, networkOf } from '../limits/network.js'
import type { Disconnection } from './audit.js'

export interface ConnectionLimits {
  readonly maxConnections: number
  /**
   * Maximum number of connections per address, or per /64 network of IPv6. This machine, including local proxies, is
   * exempt.
   */
  readonly maxConnectionsPerAddress: number
}

export interface AddressConnections {
  readonly connections: number
  /** Number of refused connections since the oldest current one. */
  readonly refused: number
}

type OnConnectionRefused = (cut: Disconnection) => void

/** Counts connections as they are accepted, and closes those beyond a limit before any other work is done. */
export class ConnectionLimiter {
  readonly #quotas: ConnectionLimits
  readonly #cut: OnConnectionRefused
  readonly #byAddress = new Map<string, { connections: number; refused: number }>()
  #count = 0
  #refused = 0

  constructor(quotas: ConnectionLimits, cut: OnConnectionRefused = () => undefined) {
    this.#quotas = quotas
    this.#cut = cut
  }

  get count(): number {
    return this.#count
  }

  get refused(): number {
    return this.#refused
  }

  get addresses(): Iterable<[address: string, AddressConnections]> {
    return this.#byAddress
  }

  /** Hides refused connections from a server. @param listener - name of the server in the audit log */
  guard(server: Server, listener: string): void {
    // A `connection` listener could not hide the event from other listeners.
    const { emit }: Pick<Server, 'emit'> = server
    Object.assign(server, {
      emit: (event: string, ...args: unknown[]): unknown => {
        const [socket] = args
        if (event === 'connection' && socket instanceof Socket && !this.#tryAdmit(socket, listener)) return true
        return Reflect.apply(emit, server, [event, ...args])
      },
    })
  }

  /** Counts a connection that the system could not accept, for instance because it has no descriptor left. */
  recordFailedAccept(message: string, listener: string): void {
    this.#refused++
    this.#cut({
      limit: 'connections',
      reason: `the system could not accept a connection: ${message}`,
      address: undefined,
      listener,
    })
  }

  #tryAdmit(socket: Socket, listener: string): boolean {
    const { remoteAddress = '' } = socket
    const address = networkOf(remoteAddress)
    const { maxConnections, maxConnectionsPerAddress } = this.#quotas
    const counts = this.#byAddress.get(address) ?? { connections: 0, refused: 0 }
    const isAddressFull = counts.connections >= maxConnectionsPerAddress && !isThisMachine(remoteAddress)
    if (this.#count >= maxConnections || isAddressFull) {
      this.#refused++
      counts.refused++
      socket.on('error', () => undefined).destroy()
      const reason = isAddressFull
        ? `limit of ${maxConnectionsPerAddress} connections per address`
        : `limit of ${maxConnections} connections`
      const limit = isAddressFull ? 'connections-per-address' : 'connections'
      this.#cut({ limit, reason, address: remoteAddress, listener })
      return false
    }
    this.#count++
    counts.connections++
    this.#byAddress.set(address, counts)
    socket.once('close', () => {
      this.#count--
      if (--counts.connections === 0) this.#byAddress.delete(address)
    })
    return true
  }
}

/**
 * Returns the address of an HTTP client: for a request that a proxy on this machine forwarded, the last address in
 * `X-Forwarded-For`, which the proxy adds. Earlier addresses may be forged.
 *
 * @param trustProxy - whether to trust a proxy on this machine
 */
export function clientAddress(
  address: string,
  forwarded: string | readonly string[] | undefined,
  trustProxy: boolean,
): string {
  if (!trustProxy || !isThisMachine(address) || forwarded === undefined) return address
  const last = String(forwarded).split(',').at(-1)?.trim() ?? ''
  const forwardedAddress = withoutPort(last)
  // If the proxy adds nothing, the client controls the header.
  return isIP(forwardedAddress) === 0 ? address : forwardedAddress
}

/** Removes the port, which some proxies add and which differs between connections. */
const withoutPort = (address: string): string =>
  /^\[([^\]]*)\](:\d+)?$/.exec(address)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(address)?.[1] ?? address
