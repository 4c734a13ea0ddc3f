import { load } from '../clients/load.js'
import { lanes } from '../closed-loop.js'
import { KEY, VALUE, WATCHED } from './peer.js'
import { freePort, scratch, startServer } from './server.js'

/**
 * @typedef {{ on: (event: 'put', listener: (change: { value: Buffer }) => void) => unknown }} Watcher
 *
 * @typedef {object} Client
 * @property {(key: string) => { value: (value: string) => PromiseLike<unknown> }} put
 * @property {(key: string) => { string: () => Promise<string | null> }} get
 * @property {() => { key: (key: string) => { create: () => Promise<Watcher> } }} watch
 * @property {() => void} close
 *
 * @typedef {{ Etcd3: new (options: { hosts: string, grpcOptions?: object }) => Client }} Etcd
 */

/** Clients of one process share a connection otherwise. */
const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1 }

/**
 * One member, its log in memory where there is a file system for that.
 *
 * @param {string} [data] - on a disk, instead of memory
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startEtcd(data = undefined) {
  /** @type {Etcd} */
  const { Etcd3 } = await load('etcd3')
  const port = await freePort()
  const hosts = `http://127.0.0.1:${port}`
  const peer = `http://127.0.0.1:${await freePort()}`
  const listen = ['--listen-client-urls', hosts, '--advertise-client-urls', hosts, '--listen-peer-urls', peer]
  const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`]
  const { stop } = await startServer('etcd', ['--data-dir', data ?? scratch(), ...listen, ...cluster], port).catch(
    rename,
  )
  const client = new Etcd3({ hosts, grpcOptions: OWN_CONNECTION })
  await client.put(KEY).value(VALUE)
  return {
    name: 'etcd',
    run: (verb, inFlight, count) =>
      lanes(inFlight, count, () => (verb === 'SET' ? client.put(KEY).value(VALUE) : client.get(KEY).string())),
    change: async value => client.put(WATCHED).value(value),
    watch: async seen => {
      const own = new Etcd3({ hosts, grpcOptions: OWN_CONNECTION })
      const watcher = await own.watch().key(WATCHED).create()
      watcher.on('put', ({ value }) => seen(value.toString()))
      return async () => own.close()
    },
    close: async () => {
      client.close()
      await stop()
    },
  }
}

/** The package has another name than its command. @param {Error} error @returns {never} */
function rename(error) {
  throw new Error(error.message.replace(/etcd$/, 'etcd-server'), { cause: error })
}
