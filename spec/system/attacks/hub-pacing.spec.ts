import { describe, expect, it } from 'vitest'
import type { RawSocket } from '../../support/raw-socket.js'
import { jsonFrame, repeated } from './support/hub-frames.js'
import { openHubScene, prepareHubScenes } from './support/hub-scene.js'

prepareHubScenes()

/** How long a sender waits for a member at most, ms. */
const LONGEST_PAUSE = 4_000
/** One more than a member may leave unacknowledged before senders wait for it. */
const BURST = 751
/** Messages of the innocent member that come before it acknowledges; few beside the burst. */
const MEANWHILE = 10
/** Between two of them, or a slow machine lets so many come that it lags behind with these as well, ms. */
const PAUSE_MS = 20

const send = async (attacker: RawSocket, ...frames: readonly object[]): Promise<void> =>
  attacker.send(Buffer.concat(frames.map(jsonFrame)))

const lastSequenceId = ({ last }: RawSocket): number =>
  Number(
    String(last)
      .match(/(?<="sequenceId":)\d+(?=[,}])/g)
      ?.at(-1) ?? 0,
  )

describe('a member of a group that acknowledges late', () => {
  it('does not hold up other senders of the group by what it is sent in a group of its own', async () => {
    const scene = await openHubScene({}, PAUSE_MS)
    const { worst } = await scene.under(async () => {
      const [member, accomplice] = await scene.connectAll(2, n => ({ user: `mallory-${n}`, mayAll: true }))
      if (member === undefined || accomplice === undefined) return
      await send(member, { type: 'joinGroup', group: 'own' }, { type: 'joinGroup', group: 'innocent' })
      const message = jsonFrame({ type: 'sendToGroup', group: 'own', data: 1, dataType: 'json' })
      let acknowledged = 0
      for (let round = 1; round <= 5; round++) {
        await accomplice.send(repeated(message, BURST * message.length))
        // Were the innocent member held, these would not come before the longest pause is over.
        await member.until(() => lastSequenceId(member) >= acknowledged + BURST + MEANWHILE)
        acknowledged = lastSequenceId(member)
        await send(member, { type: 'sequenceAck', sequenceId: acknowledged })
      }
    }, false)
    expect(worst).toBeLessThan(LONGEST_PAUSE / 2)
  })
})
