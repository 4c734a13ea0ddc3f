// Opens idle connections in a separate process, because their number may exceed the limit of one process.
import { notificationFilter, responseTopic } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'

/** Number of connections that are opened concurrently. */
const CONCURRENCY = 100

/**
 * @typedef {object} Order
 * @property {string} url
 * @property {string} address - local address to connect from
 * @property {string} prefix - prefix of the client ids
 * @property {number} count
 * @property {boolean} subscribed - to responses and notifications, like the client of this package
 */

/** @type {RawPeer[]} */
const peers = []

/** @param {Order} order @param {number} number */
async function open({ url, address, prefix, subscribed }, number) {
  const clientId = `${prefix}-${number}`
  const peer = await RawPeer.connect(url, clientId, 5, address)
  peers.push(peer)
  if (!subscribed) return
  await peer.subscribe(responseTopic(clientId), 1)
  await peer.subscribe(notificationFilter(clientId), 1)
}

/** @param {Order} order */
async function openAll(order) {
  let next = 0
  const worker = async () => {
    while (next < order.count) await open(order, next++)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

process.on('message', order => {
  openAll(/** @type {Order} */ (order)).then(
    () => process.send?.({ open: peers.length }),
    error => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
