import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../../harness/certificates.js'
import { TEXT, webSocketFrame } from '../../../../harness/web-socket.js'
import { openHub } from '../../../pubsub/support/open-hub.js'
import { RawPubSubClient } from '../../../pubsub/support/raw-pubsub-client.js'
import { openConsole } from '../../../server/console/open-console.js'
import { nightly } from '../../../support/effort.js'

const RUNS = nightly(600, 120)
const HANDSHAKE = [
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: json.reliable.webpubsub.azure.v1',
]
const REQUESTS = [
  'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /api/store HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n',
  'POST /api/load HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'HEAD //../%2e%2e/ HTTP/1.0\r\n\r\n',
  `GET /client/hubs/chat HTTP/1.1\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`,
  `GET /client/hubs/chat?awps_connection_id=a&awps_reconnection_token=b HTTP/1.1\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`,
]
const FRAMES = [
  '{"type":"ping"}',
  '{"type":"joinGroup","group":"g","ackId":1}',
  '{"type":"sequenceAck","sequenceId":9}',
]

/** Generates valid bytes, some of them changed, omitted or repeated. */
const mutated = fc
  .tuple(
    fc.constantFrom(...REQUESTS.map(text => Buffer.from(text)), ...FRAMES.map(text => webSocketFrame(text, TEXT))),
    fc.array(fc.tuple(fc.constantFrom('flip', 'cut', 'twice'), fc.nat(), fc.nat(255)), { maxLength: 4 }),
  )
  .map(([bytes, changes]) => {
    let changed = Buffer.from(bytes)
    for (const [how, where, what] of changes) {
      const at = where % (changed.length + 1)
      if (how === 'flip' && at < changed.length) changed[at] = what
      if (how === 'cut') changed = changed.subarray(0, at)
      if (how === 'twice') changed = Buffer.concat([changed.subarray(0, at), changed])
    }
    return changed
  })
const chunks = fc.array(fc.oneof({ weight: 5, arbitrary: mutated }, fc.uint8Array({ maxLength: 200 })), {
  maxLength: 4,
})

/** Sends all bytes and waits for the end of the connection. */
async function sendBytes(url: string, pieces: readonly Uint8Array[], ca: string | undefined): Promise<void> {
  const port = Number(new URL(url).port)
  const socket =
    ca === undefined
      ? connectTcp(port, '127.0.0.1')
      : connectTls({ host: '127.0.0.1', port, ca, servername: 'localhost' })
  socket.on('error', () => undefined).resume()
  const closed = once(socket, 'close')
  await once(socket, ca === undefined ? 'connect' : 'secureConnect')
  for (const piece of pieces) if (socket.writable) socket.write(piece)
  socket.destroySoon()
  await closed
}

describe('arbitrary HTTP input', () => {
  it.each(['plain', 'TLS'])(
    'affects neither the console nor the hub (%s)',
    async way => {
      const authority = way === 'TLS' ? new Authority('/CN=Servers') : undefined
      const tls = authority?.issue('/CN=localhost')
      const console = await openConsole({ tls })
      const { server: hub } = await openHub({ tls })
      const escaped: unknown[] = []
      const note = (error: unknown): void => void escaped.push(error)
      process.on('uncaughtExceptionMonitor', note)
      onTestFinished(() => void process.off('uncaughtExceptionMonitor', note))
      await fc.assert(
        fc.asyncProperty(fc.boolean(), chunks, async (toHub, pieces) => {
          await sendBytes(toHub ? hub.url : console.server.url, pieces, authority?.cert)
        }),
        { numRuns: RUNS, interruptAfterTimeLimit: 30_000 },
      )
      expect(escaped).toEqual([])
      if (authority === undefined) {
        expect((await console.callApi('api/store')).status).toBe(200)
        await RawPubSubClient.connect(`${hub.url}/client/hubs/chat`)
      } else {
        await sendBytes(console.server.url, [Buffer.from(REQUESTS[0] ?? '')], authority.cert)
        await sendBytes(hub.url, [Buffer.from(REQUESTS[4] ?? '')], authority.cert)
      }
    },
    60_000,
  )
})
