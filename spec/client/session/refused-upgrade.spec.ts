import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openClient, record } from '../../support/open-client.js'

/** Starts an HTTP server that refuses every upgrade with `status`. Returns its port. */
async function refusing(status: number): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(status).end())
  server.on('upgrade', (_request, socket) => socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

describe('an HTTP server that refuses the upgrade to WebSocket', () => {
  it.each([
    [401, 'a proxy or web server denies access'],
    [403, 'a proxy or web server denies access'],
    [404, 'does this address and path serve MQTT over WebSocket, and is it ws:// or wss://?'],
    [503, 'a proxy or web server is unavailable'],
  ])('the status has the code %i and a hint, and the client retries', async (code, hint) => {
    const url = `ws://127.0.0.1:${await refusing(code)}/mqtt`
    const status = record(openClient(url, { reconnectStrategy: () => 3_600_000 }).status$)
    await status.until(({ values }) => values.at(-1)?.state === 'reconnecting')
    const message = `Cannot reach ${url}: Unexpected server response: ${code} (${hint})`
    expect(status.values.at(-1)).toMatchObject({ cause: { code: 'connection-lost', message } })
  })
})
