import { progress } from '../support/report.js'

/**
 * A store and its JavaScript client.
 *
 * @typedef {object} Contestant
 * @property {string} name
 * @property {number} [pid] - the process whose CPU time is measured
 * @property {(verb: 'SET' | 'GET', inFlight: number, count: number) => Promise<unknown>} run
 * @property {() => Promise<unknown>} close - clients and server
 */

/**
 * A store with clients that watch a key.
 *
 * @typedef {object} Watched
 * @property {string} name
 * @property {number} [pid] - the process whose CPU time is measured
 * @property {(value: string) => Promise<unknown>} change - writes the watched key
 * @property {(onValue: (value: string) => void) => Promise<() => unknown>} watch - connects another client that
 * watches the key; resolves to a function that closes it
 */

/** @typedef {Contestant & Watched} Peer - used as the documentation of the client recommends */

/** A value of 16 bytes as text, which all clients accept without a wrapper. */
export const VALUE = 'sixteen bytes...'
export const KEY = 'bench'
export const WATCHED = 'watched'

/**
 * Starts servers. Reports those that are not installed.
 *
 * @template T
 * @param {Readonly<Record<string, () => Promise<T>>>} starts - by name
 * @param {(reason: string) => void} reportMissing
 */
export async function startInstalled(starts, reportMissing) {
  /** @type {T[]} */
  const started = []
  for (const [name, start] of Object.entries(starts)) {
    progress(`starting ${name}`)
    await start().then(
      server => started.push(server),
      error => reportMissing(`${name}: ${error.message}`),
    )
  }
  return started
}
