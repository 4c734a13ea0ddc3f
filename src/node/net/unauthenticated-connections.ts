import type { Socket } from 'node:net'
import { connectionName, networkOf } from '../limits/network.js'

/**
 * What takes places, by address: when there are none left, the address with most of them gives way with its oldest.
 *
 * @example
 * ```ts
 * places.add('192.0.2.1', socket)
 * if (places.size > 100) places.yielding()?.destroy()
 * ```
 */
export class AddressSlots<T> {
  /** By network. */
  readonly #items = new Map<string, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Those of an address, or of its network. */
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

  /** Harmless for one that has none. */
  delete(address: string, item: T): void {
    const network = networkOf(address)
    const items = this.#items.get(network)
    if (!items?.delete(item)) return
    if (items.size === 0) this.#items.delete(network)
    this.#size--
  }

  /** The oldest of the address that has most, if that has more than `least`. */
  yielding(least = 0): T | undefined {
    let most: ReadonlySet<T> | undefined
    for (const items of this.#items.values()) if (items.size > (most?.size ?? least)) most = items
    const [oldest] = most ?? []
    return oldest
  }
}

/**
 * Connections that have not shown that they may ask. There is room for so many; one more takes the place of the oldest of the
 * address that has most. So those who take their time, or do nothing, never keep out one that has something to say: that is
 * said within moments of connecting. A TLS handshake counts as well.
 */
export class UnauthenticatedConnections {
  readonly #most: number
  readonly #cut: (socket: Socket) => void
  readonly #sockets = new Map<string, { readonly address: string; readonly socket: Socket }>()
  readonly #addressSlots = new AddressSlots<string>()

  /** @param cut - is told of each that is ended */
  constructor(most: number, cut: (socket: Socket) => void = () => undefined) {
    this.#most = most
    this.#cut = cut
  }

  /** Takes in a connection, below TLS if it has that, and ends one if that is one too many. */
  add(socket: Socket): void {
    if (socket.destroyed) return
    const name = connectionName(socket)
    const address = socket.remoteAddress ?? ''
    this.#sockets.set(name, { address, socket })
    this.#addressSlots.add(address, name)
    socket.once('close', () => {
      if (this.#sockets.get(name)?.socket === socket) this.#delete(name)
    })
    if (this.#addressSlots.size > this.#most) this.#evict()
  }

  /** The connection, below TLS or above, is of somebody who may ask; it stays as long as it likes. */
  authenticated(socket: Socket): void {
    this.#delete(connectionName(socket))
  }

  #evict(): void {
    const name = this.#addressSlots.yielding()
    const yielding = name === undefined ? undefined : this.#sockets.get(name)
    if (name === undefined || yielding === undefined) return
    this.#delete(name)
    this.#cut(yielding.socket)
    yielding.socket.destroy()
  }

  #delete(name: string): void {
    const known = this.#sockets.get(name)
    this.#sockets.delete(name)
    if (known) this.#addressSlots.delete(known.address, name)
  }
}
