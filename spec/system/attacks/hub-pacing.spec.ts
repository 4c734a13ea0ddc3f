import { describe, it } from 'vitest'
import type { RawSocket } from '../../support/raw-socket.js'
import { jsonFrame, repeated } from './support/hub-frames.js'
import { openHubScene, prepareHubScenes } from './support/hub-scene.js'

prepareHubScenes()

const send = async (attacker: RawSocket, ...frames: readonly object[]): Promise<void> =>
  attacker.send(Buffer.concat(frames.map(jsonFrame)))

describe('A member of a group does not hold up those that send to it', () => {
  it('by a backlog that it fills itself in another group and acknowledges late', async () => {
    const scene = await openHubScene()
    await scene.under(async () => {
      const [member, accomplice] = await scene.connectAll(2, n => ({ user: `mallory-${n}`, mayAll: true }))
      if (member === undefined || accomplice === undefined) return
      await send(member, { type: 'joinGroup', group: 'own' }, { type: 'joinGroup', group: 'innocent' })
      const message = jsonFrame({ type: 'sendToGroup', group: 'own', data: 1, dataType: 'json' })
      for (let round = 1; round <= 8; round++) {
        await accomplice.send(repeated(message, 751 * message.length))
        await new Promise(resolve => setTimeout(resolve, 300))
        // More than it was sent has no effect, so it acknowledges a little at a time.
        const acks = Array.from({ length: 20 }, (_, n) => ({ type: 'sequenceAck', sequenceId: round * 700 + 40 * n }))
        await send(member, ...acks)
      }
    })
  })
})
