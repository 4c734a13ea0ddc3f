import { describe, it } from 'vitest'
import type { RawSocket } from '../../support/raw-socket.js'
import { jsonFrame, repeated } from './support/hub-frames.js'
import { openHubScene, prepareHubScenes } from './support/hub-scene.js'

prepareHubScenes()

/** The longest pause of a sender for a member, in ms. */
const MAX_PAUSE_MS = 4_000
/** One more message than a member may leave unacknowledged before senders wait for it. */
const BURST = 751
/**
 * The number of messages to the innocent member before the attacker acknowledges, which is small compared to the burst.
 */
const MEANWHILE = 10
/**
 * The delay between two of these messages, in ms. With a shorter delay, the attacker could lag with these messages as
 * well.
 */
const PAUSE_MS = 20

const send = async (attacker: RawSocket, ...frames: readonly object[]): Promise<void> =>
  attacker.send(Buffer.concat(frames.map(jsonFrame)))

const lastSequenceId = ({ last }: RawSocket): number =>
  Number(
    String(last)
      .match(/(?<="sequenceId":)\d+(?=[,}])/g)
      ?.at(-1) ?? 0,
  )

describe('a group member that acknowledges late', () => {
  it('a member that lags in one group does not hold senders of a shared group', async () => {
    const scene = await openHubScene({}, PAUSE_MS)
    const attack = async (): Promise<void> => {
      const [member, accomplice] = await scene.connectAll(2, n => ({ user: `mallory-${n}`, mayAll: true }))
      if (member === undefined || accomplice === undefined) return
      await send(member, { type: 'joinGroup', group: 'own' }, { type: 'joinGroup', group: 'innocent', ackId: 1 })
      await member.until(() => String(member.last).includes('"ackId":1'))
      const message = jsonFrame({ type: 'sendToGroup', group: 'own', data: 1, dataType: 'json' })
      let acknowledged = 0
      for (let round = 1; round <= 5; round++) {
        await accomplice.send(repeated(message, BURST * message.length))
        // If the innocent member were held, these messages would arrive only after the longest pause.
        await member.until(() => lastSequenceId(member) >= acknowledged + BURST + MEANWHILE)
        acknowledged = lastSequenceId(member)
        await send(member, { type: 'sequenceAck', sequenceId: acknowledged })
      }
    }
    await scene.runAttack(attack, { isSlowdownJudged: false, maxRoundMs: MAX_PAUSE_MS / 2 })
  })
})
