import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Weather } from './lane.js'
import { fairWeather, Lane } from './lane.js'
import type { Random } from './random.js'

/** from client to store, from store to client */
export type Direction = 'up' | 'down'

export type Pair = { near: Socket; far: Socket; up: Lane; down: Lane }

/** A link between one client and the store: a TCP proxy that injects faults. */
export class Link {
  #pairs: Set<Pair> = new Set()
  #server
  #random
  #refusing = false
  #weather = { up: fairWeather(), down: fairWeather() }

  /** @param port - of the store */
  constructor(port: number, random: Random) {
    this.#random = random
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, near => this.#accept(near, port))
  }

  /** @returns the port of the proxy */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  /** Closes all connections, optionally with a reset; returns their number. */
  cut(reset = false) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) {
        // A socket already ended cannot be reset: Node would leak its handle.
        if (reset && !socket.writableEnded) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    return size
  }

  /** Closes one direction of all connections; returns their number. */
  halfClose(direction: Direction) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) (direction === 'up' ? far : near).end()
    return size
  }

  /** @param refusing - whether new connections are closed immediately */
  refuse(refusing: boolean) {
    this.#refusing = refusing
  }

  change(direction: Direction, weather: Partial<Weather>) {
    Object.assign(this.#weather[direction], weather)
    for (const pair of this.#pairs) pair[direction].flow()
  }

  heal() {
    this.#refusing = false
    this.change('up', fairWeather())
    this.change('down', fairWeather())
  }

  close(): Promise<void> {
    this.cut()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  #accept(near: Socket, port: number) {
    if (this.#refusing) {
      near.on('error', () => undefined).destroy()
      return
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    // 'close' follows and is handled by the lanes.
    for (const socket of [near, far]) socket.on('error', () => undefined)
    const up = new Lane(near, far, this.#weather.up, this.#random)
    const down = new Lane(far, near, this.#weather.down, this.#random)
    const pair = { near, far, up, down }
    this.#pairs.add(pair)
    const forget = () => near.destroyed && far.destroyed && this.#pairs.delete(pair)
    near.on('close', forget)
    far.on('close', forget)
  }
}
