import { MAX_TIMEOUT_MS } from './clock.js'

/** Number of attempts after which the times repeat. The last one passes 15 addresses that do not respond. */
const PERIOD = 4

/**
 * Returns the time for each address of a host name, ms. Node tries the addresses one after the other, and by default
 * gives each one but the last 250 ms, in which a slow link never connects. Later attempts give each address less time,
 * to get past several addresses that do not respond.
 *
 * @param attempt - number of the attempt, from 0
 */
export const addressTimeout = (connectTimeoutMs: number, attempt: number): number =>
  Math.ceil(Math.min(connectTimeoutMs, MAX_TIMEOUT_MS) / 2 ** (1 + (attempt % PERIOD)))
