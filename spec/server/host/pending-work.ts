import { openStore } from '../../support/open-store.js'
import { RawClient } from '../../support/raw-client.js'

/** Completes work at another store. By then, pending work of this process has certainly run. */
export async function waitForPendingWork(): Promise<void> {
  const { store } = await openStore()
  const observer = await RawClient.ready(store.url, 'observer')
  for (let turn = 0; turn < 30; turn++) await observer.settled()
}
