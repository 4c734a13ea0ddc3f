import { fileURLToPath } from 'node:url'
import { run } from './processes.js'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/**
 * A node in a separate process, started from the command line.
 *
 * @typedef {object} Node
 * @property {string} id
 * @property {string} url
 * @property {(signal: 'SIGTERM' | 'SIGKILL') => Promise<unknown>} end
 */

/**
 * @param {string} servers - addresses of NATS
 * @param {string} id
 * @param {string} [port] - 0 for any free port
 * @returns {Promise<Node>}
 */
export async function startNode(servers, id, port = '0') {
  const about = ['--log', servers, '--log-name', 'demo', '--node-id', id, '--port', port, '--ws-port', '0']
  const { line, end } = await run(process.execPath, [MAIN, 'serve', ...about], / listening on /)
  return { id, url: /mqtt:\/\/[\d.:]+/.exec(line)?.[0] ?? '', end }
}

/**
 * Returns the node that a client is connected to.
 *
 * @param {readonly Node[]} nodes
 * @param {import('rx-statestore').Status} status
 */
export const nodeOf = (nodes, status) =>
  nodes.find(({ url }) => status.state === 'connected' && status.url !== undefined && sameHost(url, status.url))

/** @param {string} one @param {string} other */
const sameHost = (one, other) => new URL(one).host === new URL(other).host
