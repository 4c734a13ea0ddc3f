import { openStore } from '../../support/open-store.js'
import { RawClient } from '../../support/raw-client.js'

/** Lets so much happen at another store that whatever was about to happen here has happened. */
export async function meanwhile(): Promise<void> {
  const { store } = await openStore()
  const witness = await RawClient.ready(store.url, 'witness')
  for (let turn = 0; turn < 30; turn++) await witness.settled()
}
