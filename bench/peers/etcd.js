import { load } from '../clients/load.js'
import { runConcurrently } from '../support/closed-loop.js'
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

/** Gives each client a connection; otherwise the clients of one process would share one. */
const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1 }

/**
 * Starts one member, with its log on an in-memory file system if the machine has one.
 *
 * @param {string} [data] - directory on disk to use instead
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startEtcd(data = undefined) {
  return startMembers([data ?? scratch()])
}

/**
 * Starts a cluster with one member per folder. Writes go to the first member; watching clients connect to the next ones
 * in turn.
 *
 * @param {readonly string[]} folders
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startMembers(folders) {
  /** @type {Etcd} */
  const { Etcd3 } = await load('etcd3')
  /** @type {{ name: string, data: string, port: number, peer: string }[]} */
  const members = []
  for (const [index, data] of folders.entries()) {
    members.push({ name: `m${index}`, data, port: await freePort(), peer: `http://127.0.0.1:${await freePort()}` })
  }
  const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(',')
  const running = await Promise.all(members.map(member => startMember(member, cluster)))
  const optionsOf = (/** @type {number} */ index) => ({
    hosts: `http://127.0.0.1:${members[index % members.length]?.port}`,
    grpcOptions: OWN_CONNECTION,
  })
  const client = new Etcd3(optionsOf(0))
  let watchers = 0
  await client.put(KEY).value(VALUE)
  return {
    name: 'etcd',
    run: (verb, inFlight, count) =>
      runConcurrently(inFlight, count, () =>
        verb === 'SET' ? client.put(KEY).value(VALUE) : client.get(KEY).string(),
      ),
    change: async value => client.put(WATCHED).value(value),
    watch: async onValue => {
      const watchingClient = new Etcd3(optionsOf(++watchers))
      const watcher = await watchingClient.watch().key(WATCHED).create()
      watcher.on('put', ({ value }) => onValue(value.toString()))
      return async () => watchingClient.close()
    },
    close: async () => {
      client.close()
      await Promise.all(running.map(({ stop }) => stop()))
    },
  }
}

/** @param {{ name: string, data: string, port: number, peer: string }} member @param {string} cluster */
function startMember({ name, data, port, peer }, cluster) {
  const clientUrl = `http://127.0.0.1:${port}`
  const listen = ['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl, '--listen-peer-urls', peer]
  const others = ['--initial-advertise-peer-urls', peer, '--initial-cluster', cluster]
  return startServer('etcd', ['--name', name, '--data-dir', data, ...listen, ...others], port).catch(
    throwWithPackageName,
  )
}

/**
 * Throws an error that names the Debian package, whose name differs from the command.
 *
 * @param {Error} error @returns {never}
 */
function throwWithPackageName(error) {
  throw new Error(error.message.replace(/etcd$/, 'etcd-server'), { cause: error })
}
