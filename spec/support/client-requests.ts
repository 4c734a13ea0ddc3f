import type { StoreServer } from '../../src/server/index.js'
import { record } from './open-client.js'

/**
 * Records the requests of clients, such as `KEYNOTIFY setPoint STOP`. The returned function returns the requests so
 * far.
 */
export function requestsOf(store: StoreServer, isOne: (clientId: string) => boolean): () => readonly string[] {
  const { values } = record(store.requests$)
  return () => values.filter(({ clientId }) => isOne(clientId)).map(({ payload }) => inWords(payload))
}

// The lines are `*2`, `$3`, `GET`, `$1`, `a` and an empty line.
function inWords(payload: Uint8Array): string {
  const lines = new TextDecoder().decode(payload).split('\r\n').slice(0, -1)
  return lines.filter((_, i) => i > 0 && i % 2 === 0).join(' ')
}
