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
  return startMembers([data ?? scratch()])
}

/**
 * Members of a cluster, each with its log in a folder. Writes are at the first one, watching clients at the next one and
 * so on.
 *
 * @param {readonly string[]} folders
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startMembers(folders) {
  /** @type {Etcd} */
  const { Etcd3 } = await load('etcd3')
  /** @type {{ name: string, data: string, port: number, peer: string }[]} */
  const members = []
  for (const [at, data] of folders.entries()) {
    members.push({ name: `m${at}`, data, port: await freePort(), peer: `http://127.0.0.1:${await freePort()}` })
  }
  const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(',')
  const running = await Promise.all(members.map(member => startMember(member, cluster)))
  const at = (/** @type {number} */ index) => ({
    hosts: `http://127.0.0.1:${members[index % members.length]?.port}`,
    grpcOptions: OWN_CONNECTION,
  })
  const client = new Etcd3(at(0))
  let watchers = 0
  await client.put(KEY).value(VALUE)
  return {
    name: 'etcd',
    run: (verb, inFlight, count) =>
      lanes(inFlight, count, () => (verb === 'SET' ? client.put(KEY).value(VALUE) : client.get(KEY).string())),
    change: async value => client.put(WATCHED).value(value),
    watch: async seen => {
      const own = new Etcd3(at(++watchers))
      const watcher = await own.watch().key(WATCHED).create()
      watcher.on('put', ({ value }) => seen(value.toString()))
      return async () => own.close()
    },
    close: async () => {
      client.close()
      await Promise.all(running.map(({ stop }) => stop()))
    },
  }
}

/** @param {{ name: string, data: string, port: number, peer: string }} member @param {string} cluster */
function startMember({ name, data, port, peer }, cluster) {
  const own = `http://127.0.0.1:${port}`
  const listen = ['--listen-client-urls', own, '--advertise-client-urls', own, '--listen-peer-urls', peer]
  const others = ['--initial-advertise-peer-urls', peer, '--initial-cluster', cluster]
  return startServer('etcd', ['--name', name, '--data-dir', data, ...listen, ...others], port).catch(rename)
}

/** The package has another name than its command. @param {Error} error @returns {never} */
function rename(error) {
  throw new Error(error.message.replace(/etcd$/, 'etcd-server'), { cause: error })
}
