import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { UPGRADE } from '../../../harness/web-socket.js'
import { JSON_PROTOCOL } from './raw-pubsub-client.js'

/** Returns the HTTP request with which a client of a hub requests a WebSocket at a path. */
export const upgradeTo = (path: string): string =>
  UPGRADE.replace('GET / ', `GET ${path} `).replace('mqtt', JSON_PROTOCOL)

/**
 * Connects to a hub with HTTP headers and returns the status of the response, which is 101 for an accepted client. The
 * socket is closed at the end of the test.
 */
export async function upgradeStatus(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const socket = new WebSocket(url, [JSON_PROTOCOL], { headers })
  onTestFinished(() => socket.terminate())
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(101))
    socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))
    socket.once('error', reject)
  })
}
