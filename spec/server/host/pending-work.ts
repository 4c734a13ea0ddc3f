import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'

/** Completes work at another store. By then, pending work of this process has certainly run. */
export async function waitForPendingWork(): Promise<void> {
  const { store } = await openStore()
  const observer = await StoreClient.ready(store.url, 'observer')
  for (let turn = 0; turn < 30; turn++) await observer.settled()
}
