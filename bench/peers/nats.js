import { load } from '../clients/load.js'
import { runConcurrently } from '../support/closed-loop.js'
import { KEY, VALUE, WATCHED } from './peer.js'
import { freePort, scratch, startServer } from './server.js'

/**
 * @typedef {{ string: () => string }} Entry
 *
 * @typedef {object} Bucket
 * @property {(key: string, value: string) => Promise<unknown>} put
 * @property {(key: string) => Promise<Entry | null>} get
 * @property {(options: { key: string }) => Promise<AsyncIterable<Entry>>} watch
 *
 * @typedef {{ close: () => Promise<void> }} Connection
 *
 * @typedef {object} Manager
 * @property {(bucket: string, options: { storage: 'memory' | 'file', replicas?: number, history: number }) => Promise<Bucket>} create
 * @property {(bucket: string) => Promise<Bucket>} open
 *
 * @typedef {{ Kvm: new (connection: Connection) => Manager }} Kv
 * @typedef {{ connect: (options: { servers: string }) => Promise<Connection> }} Transport
 */

/**
 * Starts a NATS server with a bucket in memory that keeps one value per key.
 *
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startNats() {
  const port = await freePort()
  const args = ['--jetstream', '--store_dir', scratch(), '--addr', '127.0.0.1', '--port', String(port)]
  const { stop } = await startServer('nats-server', args, port)
  const peer = await openNats([`127.0.0.1:${port}`], { storage: 'memory', history: 1 })
  return {
    ...peer,
    close: async () => {
      await peer.close()
      await stop()
    },
  }
}

/**
 * Opens a bucket at running servers. Writes go to the first server; watching clients connect to the next ones in turn.
 *
 * @param {readonly string[]} servers
 * @param {Parameters<Manager['create']>[1]} options
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function openNats(servers, options) {
  /** @type {Kv} */
  const { Kvm } = await load('@nats-io/kv')
  /** @type {Transport} */
  const { connect } = await load('@nats-io/transport-node')
  const optionsOf = (/** @type {number} */ index) => ({ servers: servers[index % servers.length] ?? '' })
  const connection = await connect(optionsOf(0))
  const kv = await new Kvm(connection).create('bench', options)
  let watchers = 0
  await kv.put(KEY, VALUE)
  await kv.put(WATCHED, VALUE)
  return {
    name: 'NATS KV',
    run: (verb, inFlight, count) =>
      runConcurrently(inFlight, count, async () =>
        verb === 'SET' ? kv.put(KEY, VALUE) : (await kv.get(KEY))?.string(),
      ),
    change: value => kv.put(WATCHED, value),
    watch: async onValue => {
      const watchingConnection = await connect(optionsOf(++watchers))
      const entries = await (await new Kvm(watchingConnection).open('bench')).watch({ key: WATCHED })
      void forEachValue(entries, onValue)
      return () => watchingConnection.close()
    },
    close: () => connection.close(),
  }
}

/** @param {AsyncIterable<Entry>} entries @param {(value: string) => void} onValue */
async function forEachValue(entries, onValue) {
  for await (const entry of entries) onValue(entry.string())
}
