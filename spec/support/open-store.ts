import { onTestFinished } from 'vitest'
import { type ServeOptions, type StoreServer, serve } from '../../src/server/index.js'
import { claimedPorts } from './claimed-ports.js'
import { ManualClock } from './manual-clock.js'

/** Opens a store with a manual clock on claimed ports, so that it can restart. The store closes at the end of the test. */
export async function openStore(options: ServeOptions = {}): Promise<{ store: StoreServer; clock: ManualClock }> {
  const clock = new ManualClock()
  const store = await serve({ ...(await claimedPorts()), clock, ...options })
  onTestFinished(async () => store.close())
  return { store, clock }
}
