import { once } from 'node:events'
import { connect } from 'node:net'
import { connectPacket, DIGITS, subscribePacket } from './packets.js'

const PUBLISH = 3
const PUBACK = 4
const NOTHING = Buffer.alloc(0)
/** The read buffer of all connections, which can share it because data is processed before the next read. */
const READ_BUFFER = Buffer.alloc(256 * 1024)

/** A connection with minimal overhead, which only finds packet boundaries, acknowledges and counts. */
export class RawPeer {
  /** Number of received PUBLISH packets; `acknowledged` counts PUBACKs. */
  published = 0
  acknowledged = 0
  onData = () => {}
  /** @type {(error: Error) => void} */
  onLost = () => {}
  #rest = NOTHING
  #lastId = 0
  /** @type {import('node:net').Socket} */
  #socket

  /** @param {string} url @param {string} [localAddress] */
  constructor(url, localAddress) {
    const { hostname: host, port } = new URL(url)
    const onread = { buffer: READ_BUFFER, callback: (/** @type {number} */ length) => this.#read(length) }
    const address = localAddress === undefined ? {} : { localAddress }
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread, ...address })
    this.#socket.once('close', () => this.onLost(new Error('The broker closed the connection')))
    this.#socket.on('error', error => this.onLost(error))
  }

  /** @param {string} url @param {string} clientId @param {4 | 5} version @param {string} [localAddress] */
  static async connect(url, clientId, version = 5, localAddress) {
    const peer = new RawPeer(url, localAddress)
    await once(peer.#socket, 'connect')
    await peer.ask(connectPacket(clientId, version))
    return peer
  }

  /** @param {string} filter @param {0 | 1} qos @param {4 | 5} version */
  subscribe(filter, qos, version = 5) {
    return this.ask(subscribePacket(filter, qos, version))
  }

  /** Sends a packet and resolves with the next received data. @param {Buffer} packet @returns {Promise<void>} */
  ask(packet) {
    return new Promise((resolve, reject) => {
      this.onLost = reject
      this.onData = () => {
        this.onData = () => {}
        resolve()
      }
      this.#socket.write(packet)
    })
  }

  /**
   * Sends a packet `count` times, each time with another packet id and key.
   *
   * @param {import('./packets.js').Template} packet @param {number} count @param {() => number} nextNumber - of a key
   */
  send({ bytes, idAt, numberAt }, count, nextNumber = () => 0) {
    const batch = Buffer.allocUnsafe(bytes.length * count)
    for (let at = 0; at < batch.length; at += bytes.length) {
      bytes.copy(batch, at)
      if (idAt !== undefined) {
        this.#lastId = (this.#lastId % 65_535) + 1
        batch.writeUInt16BE(this.#lastId, at + idAt)
      }
      if (numberAt !== undefined) batch.write(String(nextNumber()).padStart(DIGITS, '0'), at + numberAt, 'latin1')
    }
    this.#socket.write(batch)
  }

  close() {
    this.onLost = () => {}
    this.#socket.destroy()
  }

  /** @param {number} length */
  #read(length) {
    const chunk = READ_BUFFER.subarray(0, length)
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    /** @type {number[]} */
    const ids = []
    let at = 0
    for (let end = packetEnd(bytes, 0); end <= bytes.length; end = packetEnd(bytes, at)) {
      const type = (bytes[at] ?? 0) >> 4
      if (type === PUBACK) this.acknowledged++
      if (type === PUBLISH) this.#onPublish(bytes, at, ids)
      at = end
    }
    // Copied, because the next read overwrites the buffer.
    this.#rest = at === bytes.length ? NOTHING : Buffer.from(bytes.subarray(at))
    if (ids.length > 0) this.#acknowledge(ids)
    this.onData()
    return true
  }

  /** @param {Buffer} bytes @param {number} at @param {number[]} ids */
  #onPublish(bytes, at, ids) {
    this.published++
    if (((bytes[at] ?? 0) & 6) === 0) return
    let topic = at + 1
    while ((bytes[topic++] ?? 0) > 127);
    ids.push(bytes.readUInt16BE(topic + 2 + bytes.readUInt16BE(topic)))
  }

  /** @param {readonly number[]} ids */
  #acknowledge(ids) {
    const batch = Buffer.allocUnsafe(4 * ids.length)
    let at = 0
    for (const id of ids) at = batch.writeUInt16BE(id, batch.writeUInt16BE(0x40_02, at))
    this.#socket.write(batch)
  }
}

/**
 * Returns the end of the packet at `start`, or `Infinity` if the length is incomplete.
 *
 * @param {Buffer} bytes @param {number} start
 */
function packetEnd(bytes, start) {
  let length = 0
  for (let i = 1; ; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return Number.POSITIVE_INFINITY
    length |= (byte & 127) << (7 * (i - 1))
    if (byte < 128) return start + i + 1 + length
  }
}
