import { once } from 'node:events'
import { connect } from 'node:net'
import { connectPacket, PublishCounter, requestPacket, responseTopic, subscribePacket } from './packets.js'

const IN_FLIGHT = 256
const DIGITS = 7
const PLACEHOLDER = '#'.repeat(DIGITS)

/**
 * A connection that sends pre-encoded requests and only counts the responses, so that the bottleneck is the store,
 * which is measured.
 */
export class RawClient {
  #packetId = 0
  #done = 0
  #pump = () => {}
  #counter = new PublishCounter()

  /** @param {import('node:net').Socket} socket @param {string} clientId */
  constructor(socket, clientId) {
    this.socket = socket
    this.clientId = clientId
    socket.on('data', chunk => {
      this.#done += this.#counter.count(Buffer.from(chunk))
      this.#pump()
    })
  }

  /** @param {string} url @param {string} clientId */
  static async connect(url, clientId) {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    const notifications = `clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/${hex(clientId)}/command/notify/+`
    socket.write(connectPacket(clientId))
    // Waits for CONNACK, because a broker accepts only a few packets before CONNACK.
    await once(socket, 'data')
    socket.write(subscribePacket(responseTopic(clientId)))
    socket.write(subscribePacket(notifications))
    return new RawClient(socket, clientId)
  }

  /**
   * Sends a command `count` times and resolves with the last response. `#######` in the command is replaced by the result
   * of `next`.
   *
   * @param {readonly string[]} command
   * @param {number} count
   * @param {() => number} next
   * @returns {Promise<void>}
   */
  run(command, count, next = () => 0) {
    const { bytes, idAt } = requestPacket(this.clientId, command)
    const numberAt = bytes.indexOf(PLACEHOLDER)
    let sent = 0
    this.#done = 0
    return new Promise((resolve, reject) => {
      const closed = () => reject(new Error('The store closed the connection'))
      this.socket.once('close', closed)
      this.#pump = () => {
        if (this.#done >= count) {
          this.#pump = () => {}
          this.socket.off('close', closed)
          resolve()
          return
        }
        const batch = Math.min(IN_FLIGHT - (sent - this.#done), count - sent)
        if (batch <= 0) return
        sent += batch
        this.socket.write(this.#batch(bytes, idAt, numberAt, batch, next))
      }
      this.#pump()
    })
  }

  /** @param {Buffer} request @param {number} idAt @param {number} numberAt @param {number} size @param {() => number} next */
  #batch(request, idAt, numberAt, size, next) {
    const batch = Buffer.allocUnsafe(request.length * size)
    for (let at = 0; at < batch.length; at += request.length) {
      request.copy(batch, at)
      this.#packetId = (this.#packetId % 65_535) + 1
      batch.writeUInt16BE(this.#packetId, at + idAt)
      if (numberAt >= 0) batch.write(String(next()).padStart(DIGITS, '0'), at + numberAt, 'latin1')
    }
    return batch
  }

  close() {
    this.socket.destroy()
  }
}

/** Returns a key that contains the number from {@link RawClient.run}. @param {string} prefix */
export const numbered = prefix => prefix + PLACEHOLDER

/** @param {string} value */
const hex = value => Buffer.from(value).toString('hex').toUpperCase()
