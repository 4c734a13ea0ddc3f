// Connections that do nothing, in a process of their own: there may be more of them than one process may have.
import { responseTopic } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'

/** Connections that are opened at a time. */
const AT_A_TIME = 100
const NOTIFICATIONS = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

/**
 * @typedef {object} Order
 * @property {number} port
 * @property {string} address - of ours, to connect from
 * @property {string} prefix - of the client ids
 * @property {number} count
 * @property {boolean} subscribed - as our client is: to responses and to notifications
 */

/** @type {RawPeer[]} */
const peers = []

/** @param {Order} order @param {number} number */
async function open({ port, address, prefix, subscribed }, number) {
  const clientId = `${prefix}-${number}`
  const peer = await RawPeer.connect(port, clientId, 5, address)
  peers.push(peer)
  if (!subscribed) return
  await peer.subscribe(responseTopic(clientId), 1)
  await peer.subscribe(`${NOTIFICATIONS}/${Buffer.from(clientId).toString('hex').toUpperCase()}/command/notify/+`, 1)
}

/** @param {Order} order */
async function openAll(order) {
  let next = 0
  const lane = async () => {
    while (next < order.count) await open(order, next++)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, lane))
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
