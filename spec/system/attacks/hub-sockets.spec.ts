import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { JSON_PROTOCOL } from '../../pubsub/support/raw-pubsub-client.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

/** The number of sockets, which is more than a hub allows besides its sessions. */
const SOCKETS = 2_500
const MOST_HELD = 2_100
const HEAD = Buffer.from('GET /client/hubs/chat HTTP/1.1\r\nHost: localhost\r\nX: ')

it('Silent sockets do not keep clients from connecting to a hub', { timeout: 60_000 }, async () => {
  const scene = await openScene({ hub: true })
  const { hub } = scene.store.addresses
  await scene.runAttack(
    async () => {
      const come = async (user: string): Promise<WebSocket> => {
        const socket = new WebSocket(`${hub}/client/hubs/chat?user=${user}`, [JSON_PROTOCOL])
        await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
        return socket
      }
      const ann = await come('ann')
      for (let n = 0; n < SOCKETS; n++) await (await scene.open(hub)).send(n % 2 === 0 ? HEAD : Buffer.of(71))
      expect((await scene.store.hubStats())?.networkConnections).toBeLessThanOrEqual(MOST_HELD)
      const bob = await come('bob')
      expect([ann.readyState, bob.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN])
      for (const socket of [ann, bob]) socket.terminate()
    },
    { mustComplete: true, isSlowdownJudged: true },
  )
})
