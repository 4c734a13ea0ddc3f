import type { Socket } from 'node:net'
import { connectionName, networkOf } from '../limits/network.js'

/**
 * Holds items by address, so that at a limit the address with the most items loses its oldest item.
 *
 * @example
 * ```ts
 * slots.add('192.0.2.1', socket)
 * if (slots.size > 100) slots.yielding()?.destroy()
 * ```
 */
export class AddressSlots<T> {
  readonly #items = new Map<string, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  countOf(address: string): number {
    return this.#items.get(networkOf(address))?.size ?? 0
  }

  add(address: string, item: T): void {
    const network = networkOf(address)
    const items = this.#items.get(network) ?? new Set()
    this.#items.set(network, items)
    if (items.has(item)) return
    items.add(item)
    this.#size++
  }

  delete(address: string, item: T): void {
    const network = networkOf(address)
    const items = this.#items.get(network)
    if (!items?.delete(item)) return
    if (items.size === 0) this.#items.delete(network)
    this.#size--
  }

  /** Returns the oldest item of the address with the most items, if it has more than `minItems`. */
  evictionCandidate(minItems = 0): T | undefined {
    let largest: ReadonlySet<T> | undefined
    for (const items of this.#items.values()) if (items.size > (largest?.size ?? minItems)) largest = items
    const [oldest] = largest ?? []
    return oldest
  }
}

/**
 * Limits connections that are not authenticated yet, including TLS handshakes. Beyond the limit, the address with the
 * most connections loses its oldest one, so slow or silent clients cannot keep out others, which authenticate within
 * moments.
 */
export class UnauthenticatedConnections {
  readonly #limit: number
  readonly #cut: (socket: Socket) => void
  readonly #sockets = new Map<string, { readonly address: string; readonly socket: Socket }>()
  readonly #addressSlots = new AddressSlots<string>()

  constructor(limit: number, cut: (socket: Socket) => void = () => undefined) {
    this.#limit = limit
    this.#cut = cut
  }

  /**
   * Adds a connection's socket, which is the one below TLS if the connection uses TLS. Beyond the limit, evicts a
   * connection.
   */
  add(socket: Socket): void {
    if (socket.destroyed) return
    const name = connectionName(socket)
    const address = socket.remoteAddress ?? ''
    this.#sockets.set(name, { address, socket })
    this.#addressSlots.add(address, name)
    socket.once('close', () => {
      if (this.#sockets.get(name)?.socket === socket) this.#delete(name)
    })
    if (this.#addressSlots.size > this.#limit) this.#evict()
  }

  /** Releases an authenticated connection. @param socket - the socket above or below TLS */
  onAuthenticated(socket: Socket): void {
    this.#delete(connectionName(socket))
  }

  #evict(): void {
    const name = this.#addressSlots.evictionCandidate()
    const candidate = name === undefined ? undefined : this.#sockets.get(name)
    if (name === undefined || candidate === undefined) return
    this.#delete(name)
    this.#cut(candidate.socket)
    candidate.socket.destroy()
  }

  #delete(name: string): void {
    const entry = this.#sockets.get(name)
    this.#sockets.delete(name)
    if (entry) this.#addressSlots.delete(entry.address, name)
  }
}
