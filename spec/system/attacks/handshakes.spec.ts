import { connect as connectTls } from 'node:tls'
import { beforeAll, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import type { TlsMaterial } from '../../../src/node/net/tls.js'
import { nightly } from '../../support/effort.js'
import { openScene, prepareScenes, type Scene } from './support/scene.js'

prepareScenes()

const AT_ONCE = 101
/** The number of handshakes, which would exhaust the store's connections if they stayed open. */
const HANDSHAKES = nightly(10, 4) * AT_ONCE
/** The first bytes of a ClientHello. */
const HALF_HELLO = Uint8Array.of(22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, 1, 2, 3)

let tls: TlsMaterial

beforeAll(() => {
  tls = new Authority('/CN=Servers').issue('/CN=localhost')
})

const rejectCertificate = async (url: string): Promise<void> => {
  const { hostname: host, port } = new URL(url)
  return new Promise(resolve => {
    connectTls({ host, port: Number(port) })
      .on('error', () => undefined)
      .once('close', () => resolve())
  })
}

/** Incomplete handshakes over MQTT, WebSocket and the console. */
const ABORTED: Readonly<Record<string, (scene: Scene, url: string) => Promise<unknown>>> = {
  'closed before they start': async (scene, url) => (await scene.open(url)).socket.end(),
  'closed in the middle': async (scene, url) => (await scene.open(url)).socket.end(HALF_HELLO),
  'of clients that reject the certificate': async (_, url) => rejectCertificate(url),
  'of random bytes': async (scene, url) => (await scene.open(url)).send(Buffer.alloc(1_000, 7)),
}

it.each(Object.entries(ABORTED))(
  'Handshakes %s are closed without affecting other clients',
  async (_, abort) => {
    const scene = await openScene({ tls, console: true, maxConnections: 3 * AT_ONCE })
    const { url, wsUrl, console: page } = scene.store.addresses
    await scene.runAttack(
      async () => {
        for (let done = 0; done < HANDSHAKES; done += AT_ONCE)
          await Promise.all(
            Array.from({ length: AT_ONCE }, async (_item, n) => abort(scene, [url, wsUrl, page][n % 3] ?? '')),
          )
        await expect.poll(async () => (await scene.store.stats()).networkConnections, { interval: 50 }).toBe(1)
      },
      { mustComplete: true, isSlowdownJudged: true },
    )
  },
  90_000,
)
