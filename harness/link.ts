import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Inspector, LinkConditions } from './link-direction.js'
import { LinkDirection, normalConditions } from './link-direction.js'
import { Random } from './random.js'

/** The direction of data: `up` from client to store, `down` from store to client. */
export type Direction = 'up' | 'down'

type Pair = { near: Socket; far: Socket; up: LinkDirection; down: LinkDirection }

/** A connection through a link. */
export interface LinkedConnection {
  /** The socket of the client. */
  readonly near: Socket
  /** The socket of the server. */
  readonly far: Socket
  /** Breaks the connection on one side only. The other side stays open and does not notice. */
  hangUp(side: 'near' | 'far'): void
}

/** A network between a client and a server that can break. It is a TCP proxy. */
export class Link {
  /** The number of connections that were established since the start. */
  connections = 0
  #pairs: Set<Pair> = new Set()
  #server
  #target
  #random
  #inspect
  #port = 0
  #isRefusing = false
  #conditions = { up: normalConditions(), down: normalConditions() }

  /**
   * @param target - the port of a server on this machine, or a URL
   * @param inspect - creates the inspector of a connection's data to the server; by default, all data is forwarded
   */
  constructor(target: number | string, random = new Random(0), inspect?: (connection: LinkedConnection) => Inspector) {
    this.#target = addressOf(target)
    this.#random = random
    this.#inspect = inspect
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, near => this.#accept(near))
  }

  get url() {
    return `mqtt://127.0.0.1:${this.#port}`
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
        this.#port = typeof address === 'object' && address !== null ? address.port : 0
        resolve(this.#port)
      })
    })
  }

  /** Connects new connections to another server. */
  redirect(target: number | string) {
    this.#target = addressOf(target)
  }

  /** Breaks all connections and refuses new connections. */
  cut() {
    this.refuse()
    return this.closeConnections()
  }

  /** Breaks all connections on the client's side only. The server's side stays open and does not notice. */
  hangUp() {
    for (const pair of this.#pairs) hangUp(pair, 'near')
  }

  /** Holds the bytes of one direction of the current connections back until {@link resume}. */
  stall(direction: Direction) {
    for (const pair of this.#pairs) pair[direction].setHeld(true)
  }

  resume() {
    for (const pair of this.#pairs) for (const direction of [pair.up, pair.down]) direction.setHeld(false)
  }

  closeConnections(reset = false) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) {
        // A socket that has already ended cannot be reset, because Node would leak its handle.
        if (reset && !socket.writableEnded) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    return size
  }

  halfClose(direction: Direction) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) (direction === 'up' ? far : near).end()
    return size
  }

  /** Closes new connections immediately until {@link restore}. */
  refuse() {
    this.#isRefusing = true
  }

  /** Accepts connections again. */
  restore() {
    this.#isRefusing = false
  }

  setConditions(direction: Direction, conditions: Partial<LinkConditions>) {
    Object.assign(this.#conditions[direction], conditions)
    for (const pair of this.#pairs) pair[direction].forward()
  }

  /** Blocks all traffic silently, as a pulled cable does. */
  block() {
    for (const direction of ['up', 'down'] as const) this.setConditions(direction, { isStalled: true })
  }

  /** Restores the conditions of a link without faults. */
  repair() {
    this.restore()
    this.setConditions('up', normalConditions())
    this.setConditions('down', normalConditions())
  }

  close(): Promise<void> {
    this.closeConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  #accept(near: Socket) {
    if (this.#isRefusing) {
      near.on('error', () => undefined).destroy()
      return
    }
    this.connections++
    const far = connect({ ...this.#target, noDelay: true, allowHalfOpen: true })
    // The link directions handle the `close` event that follows.
    for (const socket of [near, far]) socket.on('error', () => undefined)
    const inspector = this.#inspect?.({ near, far, hangUp: side => hangUp(pair, side) })
    const up = new LinkDirection(near, far, this.#conditions.up, this.#random, inspector)
    const down = new LinkDirection(far, near, this.#conditions.down, this.#random)
    const pair: Pair = { near, far, up, down }
    this.#pairs.add(pair)
    const forget = () => near.destroyed && far.destroyed && this.#pairs.delete(pair)
    near.on('close', forget)
    far.on('close', forget)
  }
}

function hangUp({ near, far, up, down }: Pair, side: 'near' | 'far') {
  const [socket, direction] = side === 'near' ? [near, up] : [far, down]
  direction.abandon()
  socket.destroy()
}

function addressOf(target: number | string) {
  if (typeof target === 'number') return { host: '127.0.0.1', port: target }
  const { hostname, port } = new URL(target)
  return { host: hostname, port: Number(port) }
}
