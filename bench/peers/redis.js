import { load } from '../clients/load.js'
import { runConcurrently } from '../support/closed-loop.js'
import { KEY, VALUE, WATCHED } from './peer.js'
import { freePort, startServer } from './server.js'

/**
 * @typedef {object} Multi
 * @property {(key: string, value: string) => Multi} set
 * @property {(channel: string, message: string) => Multi} publish
 * @property {() => Promise<unknown>} exec
 *
 * @typedef {object} Client
 * @property {() => Promise<unknown>} connect
 * @property {(key: string, value: string) => Promise<unknown>} set
 * @property {(key: string) => Promise<string | null>} get
 * @property {() => Multi} multi
 * @property {() => Client} duplicate
 * @property {(channel: string, listener: (message: string) => void) => Promise<unknown>} subscribe
 * @property {() => void} destroy
 *
 * @typedef {{ createClient: (options: { url: string }) => Client }} Redis
 */

/**
 * Starts Redis. A change is SET and PUBLISH in one MULTI. Keyspace notifications do not carry the value, so the
 * watching client would need a further request.
 *
 * @param {string} [name]
 * @param {string} [data] - directory for a log that is flushed with each write; default no persistence
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startRedis(name = 'Redis', data = undefined) {
  /** @type {Redis} */
  const { createClient } = await load('redis')
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '']
  if (data === undefined) args.push('--appendonly', 'no')
  else args.push('--appendonly', 'yes', '--appendfsync', 'always', '--dir', data)
  const { stop } = await startServer('redis-server', args, port)
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  await client.connect()
  await client.set(KEY, VALUE)
  return {
    name,
    run: (verb, inFlight, count) =>
      runConcurrently(inFlight, count, () => (verb === 'SET' ? client.set(KEY, VALUE) : client.get(KEY))),
    change: value => client.multi().set(WATCHED, value).publish(WATCHED, value).exec(),
    watch: async onValue => {
      const watcher = client.duplicate()
      await watcher.connect()
      await watcher.subscribe(WATCHED, onValue)
      return async () => watcher.destroy()
    },
    close: async () => {
      client.destroy()
      await stop()
    },
  }
}
