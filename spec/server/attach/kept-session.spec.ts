import { randomUUID } from 'node:crypto'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { openAttached, untilState } from '../../support/open-attached.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const LIFE_TOPIC = 'rx-statestore/v1/life'
const NOBODY = 16

// HiveMQ CE delivers nothing any more in a session in which messages expired that were under way when it was cut.
describe('a store beside a broker that delivers nothing in the session it kept', () => {
  const broker = async (clientId: string, delivers: (side: BrokerSide) => boolean) =>
    scriptedBroker(
      ({ connect, send }) =>
        send({ ...CONNACK, sessionPresent: connect.clean === false && connect.clientId === clientId }),
      (side: BrokerSide, packet: Packet) => {
        grant(side, packet)
        if (packet.cmd !== 'publish') return
        const isLife = packet.topic === LIFE_TOPIC
        side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: isLife ? 0 : NOBODY })
        if (isLife && delivers(side)) side.send({ ...packet, messageId: 1 })
      },
    )

  it('begins a new one when it does not hear itself, and another life', { tags: 'slow' }, async () => {
    const clientId = `store-${randomUUID()}`
    const { url, sides } = await broker(clientId, ({ connect }) => connect.clean === true)
    const store = await openAttached(url, { clientId })
    const first = store.state
    await untilState(store, 'reconnecting')
    await untilState(store, 'serving')
    expect(store.state).not.toEqual(first)
    expect(sides.filter(({ connect }) => connect.clientId === clientId).map(({ connect }) => connect.clean)).toEqual([
      false,
      true,
    ])
  })
})
