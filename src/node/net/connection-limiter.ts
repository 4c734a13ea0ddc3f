import { isIP, type Server, Socket } from 'node:net'
import { isThisMachine, networkOf } from '../limits/network.js'
import type { Cut } from './audit.js'

/** How many may be connected, whether they have said who they are or not. */
export interface ConnectionQuotas {
  readonly maxConnections: number
  /** From one address, or network of 64 bits of IPv6; this machine, where proxies are as well, may have any number. */
  readonly maxConnectionsPerAddress: number
}

/** Connections of one address, or network of IPv6. */
export interface Visits {
  readonly connections: number
  /** How many were cut because there were too many, since one of them is there. */
  readonly refused: number
}

type CutVisitor = (cut: Cut) => void

/** Counts connections from the first moment, and cuts those that are too many before anything is done for them. */
export class ConnectionLimiter {
  readonly #quotas: ConnectionQuotas
  readonly #cut: CutVisitor
  readonly #byAddress = new Map<string, { connections: number; refused: number }>()
  #count = 0
  #refused = 0

  /** @param cut - is told of each connection that is cut */
  constructor(quotas: ConnectionQuotas, cut: CutVisitor = () => undefined) {
    this.#quotas = quotas
    this.#cut = cut
  }

  /** Connections, also of those who have not said CONNECT. */
  get count(): number {
    return this.#count
  }

  /** How many were cut because there were too many. */
  get refused(): number {
    return this.#refused
  }

  /** Those of each address that has one. */
  get addresses(): Iterable<[address: string, Visits]> {
    return this.#byAddress
  }

  /** Lets a server hear only of connections for which there is room. @param listener - its name in the audit log */
  guard(server: Server, listener: string): void {
    // A listener could not keep others from hearing of it.
    const { emit }: Pick<Server, 'emit'> = server
    Object.assign(server, {
      emit: (event: string, ...args: unknown[]): unknown => {
        const [socket] = args
        if (event === 'connection' && socket instanceof Socket && !this.#admit(socket, listener)) return true
        return Reflect.apply(emit, server, [event, ...args])
      },
    })
  }

  #admit(socket: Socket, listener: string): boolean {
    const { remoteAddress = '' } = socket
    const address = networkOf(remoteAddress)
    const { maxConnections, maxConnectionsPerAddress } = this.#quotas
    const visits = this.#byAddress.get(address) ?? { connections: 0, refused: 0 }
    const crowded = visits.connections >= maxConnectionsPerAddress && !isThisMachine(remoteAddress)
    if (this.#count >= maxConnections || crowded) {
      this.#refused++
      visits.refused++
      socket.on('error', () => undefined).destroy()
      const reason = crowded
        ? `there are ${maxConnectionsPerAddress} connections from this address`
        : `there are ${maxConnections} connections`
      this.#cut({ reason, address: remoteAddress, listener })
      return false
    }
    this.#count++
    visits.connections++
    this.#byAddress.set(address, visits)
    socket.once('close', () => {
      this.#count--
      if (--visits.connections === 0) this.#byAddress.delete(address)
    })
    return true
  }
}

/**
 * Where a request over HTTP comes from: of one that a proxy on this machine passed on, the address that the proxy adds last
 * to `X-Forwarded-For`; what stands before it, anybody can have written.
 *
 * @param trustProxy - whether there is such a proxy
 */
export function callerOf(
  address: string,
  forwarded: string | readonly string[] | undefined,
  trustProxy: boolean,
): string {
  if (!trustProxy || !isThisMachine(address) || forwarded === undefined) return address
  const last = String(forwarded).split(',').at(-1)?.trim() ?? ''
  const caller = withoutPort(last)
  // Of a proxy that adds nothing the client says what it likes.
  return isIP(caller) === 0 ? address : caller
}

/** Some proxies add the port, which is another with each connection. */
const withoutPort = (address: string): string =>
  /^\[([^\]]*)\](:\d+)?$/.exec(address)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(address)?.[1] ?? address
