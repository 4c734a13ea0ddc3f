import { notificationFilter, numbered, requestPacket, responseTopic } from './packets.js'
import { RawPeer } from './peer.js'

const IN_FLIGHT = 256

/**
 * Sends pre-encoded requests and only counts the responses, so that the bottleneck is the store, which is measured.
 */
export class RawClient {
  /** @param {RawPeer} peer @param {string} clientId */
  constructor(peer, clientId) {
    this.peer = peer
    this.clientId = clientId
  }

  /** @param {string} url @param {string} clientId */
  static async connect(url, clientId) {
    const peer = await RawPeer.connect(url, clientId)
    await peer.subscribe(responseTopic(clientId), 0)
    await peer.subscribe(notificationFilter(clientId), 0)
    return new RawClient(peer, clientId)
  }

  /**
   * Sends a command `count` times and resolves with the last response. The number of a `numbered` key is the result of
   * `next`.
   *
   * @param {readonly string[]} command
   * @param {number} count
   * @param {() => number} next
   * @returns {Promise<void>}
   */
  run(command, count, next = () => 0) {
    const { peer } = this
    const packet = requestPacket(this.clientId, command)
    let sent = 0
    peer.published = 0
    return new Promise((resolve, reject) => {
      peer.onLost = reject
      peer.onData = () => {
        const batch = Math.min(IN_FLIGHT - (sent - peer.published), count - sent)
        sent += batch
        if (batch > 0) peer.send(packet, batch, next)
        if (peer.published < count) return
        peer.onData = () => {}
        resolve()
      }
      peer.onData()
    })
  }

  close() {
    this.peer.close()
  }
}

/** Writes `count` keys of 100 bytes. @param {string} url @param {number} count */
export async function writeKeys(url, count) {
  const client = await RawClient.connect(url, 'bench-load')
  let next = 0
  await client.run(['SET', numbered('k'), 'x'.repeat(100)], count, () => next++)
  client.close()
}
