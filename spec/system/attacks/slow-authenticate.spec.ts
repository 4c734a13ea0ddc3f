import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { JSON_PROTOCOL } from '../../pubsub/support/raw-pubsub-client.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

/** The maximum number of concurrent handshakes of a hub. */
const MAX_HANDSHAKES = 1_000
const BATCH = 50
const CLIENTS = 60

it('Handshakes with a slow `authenticate` do not keep other addresses from connecting', {
  timeout: 60_000,
}, async () => {
  const scene = await openScene({ hub: true })
  const { hub } = scene.store.addresses
  const sockets: WebSocket[] = []
  const startHandshake = (address: string, query: string): WebSocket => {
    const headers = { 'x-forwarded-for': address }
    const socket = new WebSocket(`${hub}/client/hubs/chat?${query}`, [JSON_PROTOCOL], { headers })
    socket.on('error', () => undefined)
    sockets.push(socket)
    return socket
  }
  const statusOf = async (socket: WebSocket): Promise<number | undefined> =>
    new Promise<number | undefined>(resolve => {
      socket.once('open', () => resolve(101))
      socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))
    })
  await scene.runAttack(
    async () => {
      for (let waiting = BATCH; waiting <= MAX_HANDSHAKES; waiting += BATCH) {
        for (let n = 0; n < BATCH; n++) startHandshake('192.0.2.1', 'slow')
        await expect.poll(async () => (await scene.store.hubStats())?.handshakes, { interval: 20 }).toBe(waiting)
      }
      const codes = await Promise.all(
        Array.from({ length: CLIENTS }, async (_, n) =>
          statusOf(startHandshake(`198.51.100.${n}`, `user=client-${n}`)),
        ),
      )
      expect(new Set(codes)).toEqual(new Set([101]))
      for (const socket of sockets) socket.terminate()
    },
    { mustComplete: true, isSlowdownJudged: true },
  )
})
