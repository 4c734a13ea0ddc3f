/**
 * A store and its JavaScript client, used as the documentation of the client recommends.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {(verb: 'SET' | 'GET', inFlight: number, count: number) => Promise<unknown>} run
 * @property {(value: string) => Promise<unknown>} change - writes the watched key
 * @property {(onValue: (value: string) => void) => Promise<() => Promise<unknown>>} watch - connects another client that
 * watches the key; resolves to a function that closes it
 * @property {() => Promise<unknown>} close - clients and server
 */

/** A value of 16 bytes as text, which all clients accept without a wrapper. */
export const VALUE = 'sixteen bytes...'
export const KEY = 'bench'
export const WATCHED = 'watched'
