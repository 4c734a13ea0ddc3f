import { publishPacket } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'

/**
 * Who publishes to whom: every publisher to a topic of its own, and to each topic so many subscribe.
 *
 * @typedef {object} Shape
 * @property {string} name
 * @property {number} publishers
 * @property {number} subscribers - to each topic
 * @property {number} inFlight - messages under way at a time, of all publishers together
 * @property {0 | 1} qos - of messages and subscriptions
 * @property {number} size - of a payload, bytes
 */

/** A publisher and those who subscribe to its topic. */
class Line {
  #sent = 0
  #left = 0
  #window = 0
  #done = () => {}
  #acknowledgedBefore = 0

  /** @param {RawPeer} publisher @param {RawPeer[]} subscribers @param {Shape} shape @param {{ bytes: Buffer, idAt: number }} packet */
  constructor(publisher, subscribers, shape, packet) {
    this.publisher = publisher
    this.subscribers = subscribers
    this.qos = shape.qos
    this.packet = packet
    this.#window = Math.ceil(shape.inFlight / shape.publishers)
    for (const peer of [publisher, ...subscribers]) peer.came = () => this.#pump()
  }

  /** Resolves when so many messages have come to all subscribers. @param {number} count @returns {Promise<void>} */
  run(count) {
    this.#sent = 0
    this.#left = count
    this.#acknowledgedBefore = this.publisher.acknowledged
    for (const subscriber of this.subscribers) subscriber.published = 0
    return new Promise((resolve, reject) => {
      for (const peer of [this.publisher, ...this.subscribers]) peer.lost = reject
      this.#done = resolve
      this.#pump()
    })
  }

  #pump() {
    const through = this.#through()
    const batch = Math.min(this.#left, this.#window - (this.#sent - through))
    // Few at a time would be many packets of the network.
    if (this.#left > 0 && batch < Math.min(this.#left, this.#window / 4)) return
    if (batch > 0) {
      this.#sent += batch
      this.#left -= batch
      this.publisher.publish(this.packet, this.qos, batch)
    } else if (through === this.#sent) this.#done()
  }

  /** How many are with the last of the subscribers, and acknowledged. */
  #through() {
    let least = this.qos === 0 ? this.#sent : this.publisher.acknowledged - this.#acknowledgedBefore
    for (const { published } of this.subscribers) if (published < least) least = published
    return least
  }

  close() {
    for (const peer of [this.publisher, ...this.subscribers]) peer.close()
  }
}

/** Publishers and subscribers of one broker. */
export class Crowd {
  /** @param {readonly Line[]} lines */
  constructor(lines) {
    this.lines = lines
  }

  /** @param {import('./brokers.js').Broker} broker @param {Shape} shape */
  static async gather({ port, version }, shape) {
    const lines = []
    for (let i = 0; i < shape.publishers; i++) {
      const topic = `bench/line/${i}`
      const subscribers = []
      for (let j = 0; j < shape.subscribers; j++) {
        const subscriber = await RawPeer.connect(port, `bench-sub-${i}-${j}`, version)
        await subscriber.subscribe(topic, shape.qos, version)
        subscribers.push(subscriber)
      }
      const publisher = await RawPeer.connect(port, `bench-pub-${i}`, version)
      const packet = publishPacket(topic, shape.qos, Buffer.alloc(shape.size, 'x'), version)
      lines.push(new Line(publisher, subscribers, shape, packet))
    }
    return new Crowd(lines)
  }

  /** Resolves when about so many messages are through. @param {number} count */
  run(count) {
    return Promise.all(this.lines.map(line => line.run(Math.ceil(count / this.lines.length))))
  }

  close() {
    for (const line of this.lines) line.close()
  }
}
