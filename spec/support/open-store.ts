import { onTestFinished } from 'vitest'
import { type ServeOptions, type StoreServer, serve } from '../../src/server/index.js'
import { ManualClock } from './manual-clock.js'

/** Opens a store with a manual clock on free ports, which closes at the end of the test. */
export async function openStore(options: ServeOptions = {}): Promise<{ store: StoreServer; clock: ManualClock }> {
  const clock = new ManualClock()
  const store = await serve({ port: 0, wsPort: 0, clock, ...options })
  onTestFinished(async () => store.close())
  return { store, clock }
}
