import { firstOf, type ServeOptions } from '../../src/server/index.js'
import { backwards } from './backwards.js'
import type { ManualClock } from './manual-clock.js'
import { openStore } from './open-store.js'
import { StoreClient } from './store-client.js'

export { as, backwards } from './backwards.js'

/** Opens a store with authentication. */
export const openSecured = async (options: ServeOptions = {}) =>
  openStore({ authenticate: firstOf([backwards()]), ...options })

/** Returns the CONNACK reason code of a rejected client. */
export async function turnedAway(url: string, id: string, options: Parameters<typeof StoreClient.connect>[2] = {}) {
  return StoreClient.connect(url, id, options).then(
    () => 'let in',
    error => ('code' in error ? error.code : error),
  )
}

/** Returns a timestamp that the store accepts. */
export const now = (clock: ManualClock): { timestamp: string } => ({ timestamp: `${clock.now()}:0:CLIENT` })
