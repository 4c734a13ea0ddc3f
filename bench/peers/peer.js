/**
 * A store with its JavaScript client, used as its documents show it.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {(verb: 'SET' | 'GET', inFlight: number, count: number) => Promise<unknown>} run
 * @property {(value: string) => Promise<unknown>} change - writes the watched key
 * @property {(seen: (value: string) => void) => Promise<() => Promise<unknown>>} watch - one more client, with a
 * connection of its own, that hears of changes of the watched key with their value; resolves to what closes it
 * @property {() => Promise<unknown>} close - clients and server
 */

/** 16 bytes, written and read as text: what all of the clients take without a wrapper of ours. */
export const VALUE = 'sixteen bytes...'
export const KEY = 'bench'
export const WATCHED = 'watched'
