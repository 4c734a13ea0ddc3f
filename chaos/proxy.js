import { connect, createServer } from 'node:net'
import { fairWeather, Lane } from './lane.js'

/** @typedef {'up' | 'down'} Direction - from client to store, from store to client */
/** @typedef {{ near: import('node:net').Socket, far: import('node:net').Socket, up: Lane, down: Lane }} Pair */

/** A cable between one client and the store: a TCP proxy that treats it badly. */
export class Link {
  /** @type {Set<Pair>} */
  #pairs = new Set()
  #server
  #random
  #refusing = false
  #weather = { up: fairWeather(), down: fairWeather() }

  /**
   * @param {number} port - of the store
   * @param {import('./random.js').Random} random
   */
  constructor(port, random) {
    this.#random = random
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, near => this.#accept(near, port))
  }

  /** @returns {Promise<number>} its port */
  listen() {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  /** Ends all connections, with or without a reset; returns how many. */
  cut(reset = false) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) {
        // One that was ended already cannot be reset any more: Node would keep its handle.
        if (reset && !socket.writableEnded) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    return size
  }

  /**
   * Ends one direction of all connections, the other goes on; returns how many.
   *
   * @param {Direction} direction
   */
  halfClose(direction) {
    const { size } = this.#pairs
    for (const { near, far } of this.#pairs) (direction === 'up' ? far : near).end()
    return size
  }

  /** @param {boolean} refusing - whether new connections are closed at once */
  refuse(refusing) {
    this.#refusing = refusing
  }

  /**
   * @param {Direction} direction
   * @param {Partial<import('./lane.js').Weather>} weather
   */
  change(direction, weather) {
    Object.assign(this.#weather[direction], weather)
    for (const pair of this.#pairs) pair[direction].flow()
  }

  heal() {
    this.#refusing = false
    this.change('up', fairWeather())
    this.change('down', fairWeather())
  }

  /** @returns {Promise<void>} */
  close() {
    this.cut()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  /**
   * @param {import('node:net').Socket} near
   * @param {number} port
   */
  #accept(near, port) {
    if (this.#refusing) {
      near.on('error', () => undefined).destroy()
      return
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    // 'close' follows, and the lanes act on that.
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
