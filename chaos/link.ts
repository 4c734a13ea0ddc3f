import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { LinkConditions } from './link-direction.js'
import { LinkDirection, normalConditions } from './link-direction.js'
import type { Random } from './random.js'

/** The direction of data: `up` from client to store, `down` from store to client. */
export type Direction = 'up' | 'down'

export type Connection = { near: Socket; far: Socket; up: LinkDirection; down: LinkDirection }

/** A link between one client and the store, which is a TCP proxy that injects faults. */
export class Link {
  #connections: Set<Connection> = new Set()
  #server
  #random
  #isRefusing = false
  #conditions = { up: normalConditions(), down: normalConditions() }

  /** @param port - port of the store */
  constructor(port: number, random: Random) {
    this.#random = random
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, near => this.#accept(near, port))
  }

  /**
   * Starts the proxy.
   *
   * @returns the port of the proxy
   */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  closeConnections(reset = false) {
    const { size } = this.#connections
    for (const { near, far } of this.#connections) {
      for (const socket of [near, far]) {
        // A socket that has already ended cannot be reset, because Node would leak its handle.
        if (reset && !socket.writableEnded) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    return size
  }

  halfClose(direction: Direction) {
    const { size } = this.#connections
    for (const { near, far } of this.#connections) (direction === 'up' ? far : near).end()
    return size
  }

  /** @param isRefusing - whether new connections are closed immediately */
  setRefusing(isRefusing: boolean) {
    this.#isRefusing = isRefusing
  }

  setConditions(direction: Direction, conditions: Partial<LinkConditions>) {
    Object.assign(this.#conditions[direction], conditions)
    for (const connection of this.#connections) connection[direction].forward()
  }

  repair() {
    this.#isRefusing = false
    this.setConditions('up', normalConditions())
    this.setConditions('down', normalConditions())
  }

  close(): Promise<void> {
    this.closeConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  #accept(near: Socket, port: number) {
    if (this.#isRefusing) {
      near.on('error', () => undefined).destroy()
      return
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    // The link directions handle the `close` event that follows.
    for (const socket of [near, far]) socket.on('error', () => undefined)
    const up = new LinkDirection(near, far, this.#conditions.up, this.#random)
    const down = new LinkDirection(far, near, this.#conditions.down, this.#random)
    const connection = { near, far, up, down }
    this.#connections.add(connection)
    const forget = () => near.destroyed && far.destroyed && this.#connections.delete(connection)
    near.on('close', forget)
    far.on('close', forget)
  }
}
