import { publishPacket } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'

/**
 * A traffic pattern in which each publisher has a separate topic with `subscribers` subscribers.
 *
 * @typedef {object} Shape
 * @property {string} name
 * @property {number} publishers
 * @property {number} subscribers - to each topic
 * @property {number} inFlight - messages in flight, for all publishers together
 * @property {0 | 1} qos - for messages and subscriptions
 * @property {number} size - payload, bytes
 */

/** A publisher and the subscribers of its topic. */
class TopicLoad {
  #sent = 0
  #unsent = 0
  #window = 0
  #done = () => {}
  #acknowledgedBefore = 0

  /** @param {RawPeer} publisher @param {RawPeer[]} subscribers @param {Shape} shape @param {import('../raw/packets.js').Template} packet */
  constructor(publisher, subscribers, shape, packet) {
    this.publisher = publisher
    this.subscribers = subscribers
    this.qos = shape.qos
    this.packet = packet
    this.#window = Math.ceil(shape.inFlight / shape.publishers)
    for (const peer of [publisher, ...subscribers]) peer.onData = () => this.#pump()
  }

  /**
   * Publishes `count` messages. Resolves when all subscribers have received them.
   *
   * @param {number} count @returns {Promise<void>}
   */
  run(count) {
    this.#sent = 0
    this.#unsent = count
    this.#acknowledgedBefore = this.publisher.acknowledged
    for (const subscriber of this.subscribers) subscriber.published = 0
    return new Promise((resolve, reject) => {
      for (const peer of [this.publisher, ...this.subscribers]) peer.onLost = reject
      this.#done = resolve
      this.#pump()
    })
  }

  #pump() {
    const completed = this.#completed()
    const batch = Math.min(this.#unsent, this.#window - (this.#sent - completed))
    // Each small batch would cost a network packet.
    if (this.#unsent > 0 && batch < Math.min(this.#unsent, this.#window / 4)) return
    if (batch > 0) {
      this.#sent += batch
      this.#unsent -= batch
      this.publisher.send(this.packet, batch)
    } else if (completed === this.#sent) this.#done()
  }

  /** Counts the messages that were received by every subscriber and acknowledged. */
  #completed() {
    let count = this.qos === 0 ? this.#sent : this.publisher.acknowledged - this.#acknowledgedBefore
    for (const { published } of this.subscribers) if (published < count) count = published
    return count
  }

  close() {
    for (const peer of [this.publisher, ...this.subscribers]) peer.close()
  }
}

/** All publishers and subscribers of one broker. */
export class PubSubLoad {
  /** @param {import('./brokers.js').Broker} broker @param {readonly TopicLoad[]} topics */
  constructor({ name, pid }, topics) {
    this.name = name
    this.pid = pid
    this.topics = topics
  }

  /** @param {import('./brokers.js').Broker} broker @param {Shape} shape */
  static async open(broker, shape) {
    const { url, version } = broker
    const topics = []
    for (let i = 0; i < shape.publishers; i++) {
      const topic = `bench/topic/${i}`
      const subscribers = []
      for (let j = 0; j < shape.subscribers; j++) {
        const subscriber = await RawPeer.connect(url, `bench-sub-${i}-${j}`, version)
        await subscriber.subscribe(topic, shape.qos, version)
        subscribers.push(subscriber)
      }
      const publisher = await RawPeer.connect(url, `bench-pub-${i}`, version)
      const packet = publishPacket(topic, shape.qos, Buffer.alloc(shape.size, 'x'), version)
      topics.push(new TopicLoad(publisher, subscribers, shape, packet))
    }
    return new PubSubLoad(broker, topics)
  }

  /** Publishes at least `count` messages. Resolves when all messages are delivered. @param {number} count */
  run = count => Promise.all(this.topics.map(topic => topic.run(Math.ceil(count / this.topics.length))))

  close() {
    for (const topic of this.topics) topic.close()
  }
}
