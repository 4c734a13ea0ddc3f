import { connect, get, set, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { start } from '../child.js'
import { closedLoop, runConcurrently } from '../closed-loop.js'
import { KEY, VALUE, WATCHED } from '../peers/peer.js'

/**
 * A node that can be killed and restarted at the same address.
 *
 * @typedef {object} Node
 * @property {string} url
 * @property {() => import('../child.js').Child} child
 * @property {() => Promise<void>} run
 */

/**
 * @param {readonly string[]} servers
 * @param {string} id
 * @returns {Promise<Node>}
 */
export async function startNode(servers, id) {
  const open = (/** @type {string} */ port) => start('./cluster/node-process.js', [servers.join(','), id, port])
  let child = await open('0')
  const url = String(child.ready)
  const run = async () => {
    child = await open(new URL(url).port)
  }
  return { url, run, child: () => child }
}

/**
 * Starts three nodes. Writes go to the first node; watching clients connect to the second, the third, the first and so
 * on.
 *
 * @param {readonly string[]} servers
 * @returns {Promise<import('../peers/peer.js').Peer & { nodes: readonly Node[] }>}
 */
export async function startNodes(servers) {
  const nodes = await Promise.all(['a', 'b', 'c'].map(id => startNode(servers, id)))
  const urlOf = (/** @type {number} */ index) => nodes[index % nodes.length]?.url ?? ''
  const store = connect(urlOf(0), { clientId: 'bench-nodes', sessionExpiry: 0 })
  const key = store.key(KEY, text)
  const watched = store.key(WATCHED, text)
  await key.set(VALUE)
  await watched.set(VALUE)
  let watchers = 0
  return {
    name: 'three nodes',
    nodes,
    run: (verb, inFlight, count) => {
      if (inFlight === 1)
        return runConcurrently(1, count, () =>
          verb === 'SET' ? firstValueFrom(key.set(VALUE)) : firstValueFrom(key.get()),
        )
      const options = { concurrency: inFlight }
      return closedLoop(inFlight, count, VALUE, verb === 'SET' ? set(key, options) : get(key, options))
    },
    change: value => firstValueFrom(watched.set(value)),
    watch: async onValue => {
      const number = watchers++
      const client = connect(urlOf(number + 1), { clientId: `bench-watcher-${number}`, sessionExpiry: 0 })
      const { value$ } = client.key(WATCHED, text)
      value$.subscribe(value => onValue(value ?? ''))
      await firstValueFrom(value$)
      return () => client.close()
    },
    close: async () => {
      await store.close()
      await Promise.all(nodes.map(({ child }) => child().close()))
    },
  }
}
