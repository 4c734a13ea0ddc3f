// Runs aedes as a separate process. The argument is the name of the aedes package in bench/clients.
import { createServer } from 'node:net'
import { load } from '../clients/load.js'

/**
 * @typedef {object} Broker
 * @property {(socket: import('node:net').Socket) => void} handle
 *
 * @typedef {{ Aedes: { createBroker: (options: { maxQueued: number }) => Promise<Broker> } }} Package
 */

/** @type {Package} */
const { Aedes } = await load(process.argv[2] ?? 'aedes')
const broker = await Aedes.createBroker({ maxQueued: 1000 })
const server = createServer({ noDelay: true }, broker.handle).listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  process.send?.(`mqtt://127.0.0.1:${port}`)
})
process.on('disconnect', () => process.exit())
