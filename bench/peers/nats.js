import { load } from '../clients/load.js'
import { lanes } from '../closed-loop.js'
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
 * @property {(bucket: string, options: { storage: 'memory', history: number }) => Promise<Bucket>} create
 * @property {(bucket: string) => Promise<Bucket>} open
 *
 * @typedef {{ Kvm: new (connection: Connection) => Manager }} Kv
 * @typedef {{ connect: (options: { servers: string }) => Promise<Connection> }} Transport
 */

/**
 * JetStream in memory, one value of history.
 *
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startNats() {
  /** @type {Kv} */
  const { Kvm } = await load('@nats-io/kv')
  /** @type {Transport} */
  const { connect } = await load('@nats-io/transport-node')
  const port = await freePort()
  const args = ['--jetstream', '--store_dir', scratch(), '--addr', '127.0.0.1', '--port', String(port)]
  const { stop } = await startServer('nats-server', args, port)
  const servers = `127.0.0.1:${port}`
  const connection = await connect({ servers })
  const kv = await new Kvm(connection).create('bench', { storage: 'memory', history: 1 })
  await kv.put(KEY, VALUE)
  await kv.put(WATCHED, VALUE)
  return {
    name: 'NATS KV',
    run: (verb, inFlight, count) =>
      lanes(inFlight, count, async () => (verb === 'SET' ? kv.put(KEY, VALUE) : (await kv.get(KEY))?.string())),
    change: value => kv.put(WATCHED, value),
    watch: async seen => {
      const own = await connect({ servers })
      const entries = await (await new Kvm(own).open('bench')).watch({ key: WATCHED })
      void follow(entries, seen)
      return () => own.close()
    },
    close: async () => {
      await connection.close()
      await stop()
    },
  }
}

/** @param {AsyncIterable<Entry>} entries @param {(value: string) => void} seen */
async function follow(entries, seen) {
  for await (const entry of entries) seen(entry.string())
}
