// Measures the time from one change of a key until a thousand watching connections are notified.
import { text } from 'rx-statestore'
import { measureFanOut } from '../peers/notifications.js'
import { openOurs } from '../peers/ours.js'
import { VALUE, WATCHED } from '../peers/peer.js'
import { notificationFilter, requestPacket } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'
import { startStore } from '../support/child.js'

/**
 * Opens a store whose key is changed and watched over plain sockets. The watching sockets count notifications; QoS 0
 * requires no acknowledgements.
 *
 * @param {string} url
 */
async function openSockets(url) {
  const writer = await RawPeer.connect(url, 'bench-writer')
  let current = ''
  let watchers = 0
  return {
    change: (/** @type {string} */ value) => {
      current = value
      return writer.ask(requestPacket('bench-writer', ['SET', WATCHED, value]).bytes)
    },
    watch: async (/** @type {(value: string) => void} */ onValue) => {
      const clientId = `bench-socket-${watchers++}`
      const peer = await RawPeer.connect(url, clientId)
      await peer.subscribe(notificationFilter(clientId), 0)
      await peer.ask(requestPacket(clientId, ['KEYNOTIFY', WATCHED]).bytes)
      peer.onData = () => onValue(current)
      return () => peer.close()
    },
    close: () => writer.close(),
  }
}

/**
 * @param {readonly { name: string, directory?: string }[]} stores - the first one is this store
 * @param {import('../support/rounds.js').Effort} effort
 * @returns {Promise<import('../support/report.js').Table>}
 */
export async function measureBrokerFanOut(stores, effort) {
  const size = effort.quick ? 100 : 1_000
  const opened = []
  for (const { name, directory } of stores) {
    const store = await startStore(directory)
    const sockets = await openSockets(store.url)
    const clients = await openOurs([store.url], name, text, VALUE)
    opened.push({ store, sockets: { ...sockets, name, pid: store.pid }, clients })
  }
  const bySockets = opened.map(({ sockets }) => sockets)
  const byClients = opened.map(({ sockets, clients }) => ({ ...sockets, watch: clients.watch }))
  const rows = [
    ...(await measureFanOut(bySockets, size, effort)).map(row => ({ watchers: 'counting sockets', ...row })),
    ...(await measureFanOut(byClients, size, effort)).map(row => ({ watchers: 'clients', ...row })),
  ]
  for (const { store, sockets, clients } of opened) {
    sockets.close()
    await clients.close()
    await store.close()
  }
  return { title: `Broker, one change to ${size} watchers`, rows }
}
