import { text } from 'rx-statestore'
import { openOurs } from '../peers/ours.js'
import { VALUE } from '../peers/peer.js'
import { start } from '../support/child.js'

/**
 * A node that can be killed and restarted at the same address.
 *
 * @typedef {object} Node
 * @property {string} url
 * @property {() => import('../support/child.js').Child} child
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
 * Starts three nodes.
 *
 * @param {readonly string[]} servers
 * @returns {Promise<import('../peers/peer.js').Peer & { nodes: readonly Node[] }>}
 */
export async function startNodes(servers) {
  const nodes = await Promise.all(['a', 'b', 'c'].map(id => startNode(servers, id)))
  const urls = nodes.map(({ url }) => url)
  const peer = await openOurs(urls, 'three nodes', text, VALUE)
  const close = async () => {
    await peer.close()
    await Promise.all(nodes.map(({ child }) => child().close()))
  }
  return { ...peer, nodes, close }
}
